"""What the packages of one repository are called in symbols, so that its projects find each other (SE-7).

Every project is indexed on its own. Within one, an indexer writes the package's version or, for a package without a
name, nothing at all: the same definition would have several symbols, and different ones could share one.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gitindex.semantic.contexts import Context

_PACKAGE_FILE = "package.json"
_NAMELESS = b"."  # SCIP's word for nothing


class Naming(NamedTuple):
    """`own`: packages of the repository, whose versions say nothing. `nameless`: what one without a name is called."""

    own: frozenset[bytes] = frozenset()
    nameless: bytes = _NAMELESS

    def owns(self, package: bytes) -> bool:
        """`package` is everything before the version: scheme, manager, name."""
        fields = package.split(b" ")
        return len(fields) == 4 and fields[2] in self.own

    def rename_nameless(self, package: bytes) -> bytes:
        return package[:-2] + self.nameless + b" " if package.endswith(b" . ") else package


NAMELESS = Naming()


def collect_naming(context: Context, paths: Iterable[str], read: Callable[[str], bytes | None]) -> Naming:
    """For one context of a tree; only npm packages need it, other indexers are told what to call theirs."""
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
    """Empty when it has none."""
    try:
        name = json.loads(package_json).get("name")
    except (ValueError, AttributeError):
        return ""
    return name if isinstance(name, str) else ""
