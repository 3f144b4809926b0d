"""What kind of file a path names: code, test, doc, example, vendored, generated, stub, config. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

KINDS = ("code", "test", "doc", "example", "vendored", "generated", "stub", "package", "config")

_VENDORED = frozenset(
    {"vendor", "vendored", "_vendor", "third_party", "thirdparty", "node_modules", "extern", "external"}
)
_TESTS = frozenset({"test", "tests", "testing", "spec", "specs", "__tests__", "testdata", "fixtures"})
_EXAMPLES = frozenset({"example", "examples", "demo", "demos", "samples", "tutorial", "tutorials"})
_DOCS = frozenset({"doc", "docs", "documentation"})
_TEST_NAME = re.compile(r"(^test_|^conftest\.py$|_test\.\w+$|_spec\.\w+$|\.(test|spec)\.\w+$|Tests?\.\w+$)")
_GENERATED = re.compile(
    r"(_pb2(_grpc)?\.pyi?$|\.pb\.\w+$|\.min\.(js|css)$|\.generated\.\w+$|(^|[-.])lock(\.\w+)?$|_generated\.\w+$)"
)
_DOC_SUFFIX = (".md", ".rst", ".txt", ".adoc", ".org", ".mdx")
_CONFIG_SUFFIX = (".toml", ".yaml", ".yml", ".json", ".ini", ".cfg", ".xml", ".po")
_PACKAGE = frozenset({"__init__.py", "index.ts", "index.js", "mod.rs"})

# Systems that a project is ported to: the same thing stands in the file of each.
PORTS = frozenset(
    {"win", "win32", "windows", "wince", "cygwin", "msdos", "os2", "os390", "aix", "sunos", "ibmi", "vms", "riscos",
     "amiga", "haiku", "qnx", "hurd"}
)  # fmt: skip


@lru_cache(maxsize=65_536)
def is_port(path: str) -> bool:
    """Is a folder or the file itself named after such a system?"""
    *folders, name = path.lower().split("/")
    return not PORTS.isdisjoint((*folders, name.partition(".")[0]))


@lru_cache(maxsize=65_536)
def file_kind(path: str) -> str:
    """The first that applies; `code` when nothing else does."""
    *folders, name = path.split("/")
    lowered = {folder.lower() for folder in folders}
    if lowered & _VENDORED:
        return "vendored"
    if _GENERATED.search(name):
        return "generated"
    if lowered & _TESTS or _TEST_NAME.search(name):
        return "test"
    if lowered & _EXAMPLES:
        return "example"
    if name.endswith(_DOC_SUFFIX) or lowered & _DOCS:
        return "doc"
    if name.endswith((".pyi", ".d.ts")):
        return "stub"
    if name in _PACKAGE:
        return "package"
    return "config" if name.endswith(_CONFIG_SUFFIX) else "code"
