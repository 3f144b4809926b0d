"""Names for the packages of a repository in symbols, so that its projects refer to the same symbols (SE-7).

Every project is indexed on its own. An indexer writes a package's version into its symbols, and a package without a
name has no name there either. Without common names one definition would have several symbols, and several definitions
could have the same one.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gitindex.semantic.contexts import Context

_PACKAGE_FILE = "package.json"
_NAMELESS = b"."  # SCIP's placeholder for an empty field


class Naming(NamedTuple):
    own: frozenset[bytes] = frozenset()  # the repository's packages, whose versions are ignored
    nameless: bytes = _NAMELESS  # the name of a package without one

    def owns(self, package: bytes) -> bool:
        """`package` is a `symbol_grammar.SplitSymbol.package`: scheme, manager, name, each with a space after it."""
        fields = package.split(b" ")
        return len(fields) == 4 and fields[2] in self.own

    def rename_nameless(self, package: bytes) -> bytes:
        return package[:-2] + self.nameless + b" " if package.endswith(b" . ") else package


NAMELESS = Naming()


def collect_naming(context: Context, paths: Iterable[str], read: Callable[[str], bytes | None]) -> Naming:
    """The naming for one context of a tree. Only npm packages need one: other indexers get the name as an option."""
    if context.language != "typescript":
        return NAMELESS
    package_files = [
        path for path in paths if posixpath.basename(path) == _PACKAGE_FILE and "node_modules" not in path
    ]
    names = {path: parse_package_name(read(path) or b"") for path in package_files}
    own = frozenset(name.encode() for name in names.values() if name)
    own_package_file = posixpath.join(context.root, _PACKAGE_FILE)
    if not context.root or names.get(own_package_file, "named"):
        return Naming(own)
    return Naming(own, b"./" + context.root.replace(" ", "_").encode())


def parse_package_name(package_json: bytes) -> str:
    """The name in a package.json, "" without one."""
    try:
        name = json.loads(package_json).get("name")
    except (ValueError, AttributeError):
        return ""
    return name if isinstance(name, str) else ""
