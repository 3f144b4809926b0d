"""Which files an import means, guessed from paths alone: each language's habits, no build system asked.

A spelling becomes a list of candidate paths, best first. A candidate names either one exact path or the end of one
(the source root is not known; a Python package is none). The first candidate that exists wins; among several files with
the same end, those nearest to the importing file do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from posixpath import dirname, join, normpath, splitext

from gitindex.navigate.fact_queries import ImportSite, family

_ECMA = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".json")
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".h++")
_BODIES = (".c", ".cc", ".cpp", ".cxx", ".m", ".mm")
_JVM = (".java", ".kt", ".scala", ".groovy")
_PACKAGE = ("__init__.py", "__init__.pyi")
# `^` marks a path from the root of the codebase; anything else is the end of a path, after `%` below a source root.
Candidates = Iterator[str]


class Modules:
    """Resolves imports against the paths of one snapshot."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = set(paths)
        self._ends: dict[str, list[str]] = defaultdict(list)  # by the last name, and by the last two
        self._found: dict[str, list[str]] = {}
        self._folders: dict[str, list[str]] = defaultdict(list)
        self._packages: set[str] = set()
        for path in sorted(self._paths):
            for end in {_end(path, 1), _end(path, 2)}:
                self._ends[end].append(path)
            folder = dirname(path)
            self._folders[folder].append(path)
            if folder and path[len(folder) + 1 :] in _PACKAGE:
                self._packages.add(folder)

    def files(self, site: ImportSite) -> tuple[str, ...]:
        """The files that hold what the import names; empty for anything outside the codebase."""
        if site.language == "go":
            return self._go(site)
        read = _READERS.get(family(site.language))
        if read is None:
            return ()
        for candidate in read(site):
            found = self._lookup(candidate, site.path)
            if found:
                return tuple(path for path in found if path != site.path) or tuple(found)
        return self._package(site) if family(site.language) == "jvm" and site.name == "*" else ()

    def neighbours(self, path: str) -> list[str]:
        """Files of the same directory."""
        return self._folders[dirname(path)]

    def bodies(self, header: str) -> list[str]:
        """Implementation files that belong to a C header, by name."""
        stem, suffix = splitext(header)
        if suffix not in _HEADERS:
            return []
        name = stem.rpartition("/")[2]
        beside = [stem + end for end in _BODIES if stem + end in self._paths]
        return beside or [path for end in _BODIES for path in self._ends.get(name + end, ())]

    def _lookup(self, candidate: str, importer: str) -> list[str]:
        if candidate.startswith("^"):
            exact = candidate[1:]
            return [exact] if exact in self._paths else []
        if candidate not in self._found:
            self._found[candidate] = self._ending(candidate)
        return _nearest(self._found[candidate], importer)

    def _ending(self, candidate: str) -> list[str]:
        end = candidate.removeprefix("%")
        named = self._ends.get(_end(end, 2), ())
        found = [path for path in named if path == end or path.endswith("/" + end)]
        if end == candidate:
            return found
        # What lies in a package has the package's name before its own: `import json` is not `flask/json`.
        return [path for path in found if path[: -len(end) - 1] not in self._packages]

    def _package(self, site: ImportSite) -> tuple[str, ...]:
        end = site.module.replace(".", "/")
        return tuple(
            path
            for folder, paths in self._folders.items()
            if folder == end or folder.endswith("/" + end)
            for path in paths
            if path.endswith(_JVM)
        )

    def _go(self, site: ImportSite) -> tuple[str, ...]:
        """A package is a directory: the longest end of the import path that is one. Standard packages have no dot."""
        parts = site.module.split("/")
        known = "." in parts[0]
        for start in range(1 if known else 0, len(parts) if known else 1):
            folder = "/".join(parts[start:])
            found = [path for path in self._folders.get(folder, ()) if path.endswith(".go")]
            if found:
                return tuple(path for path in found if not path.endswith("_test.go"))
        return ()


def _end(path: str, count: int) -> str:
    return "/".join(path.rsplit("/", count)[-count:])


def _nearest(found: list[str], importer: str) -> list[str]:
    if len(found) < 2:
        return found
    shared = {path: _shared(path, importer) for path in found}
    best = max(shared.values())
    near = [path for path in found if shared[path] == best]
    shortest = min(path.count("/") for path in near)
    return [path for path in near if path.count("/") == shortest]


def _shared(path: str, other: str) -> int:
    count = 0
    for mine, theirs in zip(path.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _python(site: ImportSite) -> Candidates:
    dots = len(site.module) - len(site.module.lstrip("."))
    rest = site.module[dots:].replace(".", "/")
    if dots:
        base = dirname(site.path)
        for _ in range(dots - 1):
            base = dirname(base)
        stem = "^" + "/".join(filter(None, (base, rest)))
    else:
        stem = "%" + rest
    stem = stem.rstrip("/")
    bare = stem in ("%", "^")
    prefix = stem if bare else f"{stem}/"
    if site.name and site.name != "*":
        yield f"{prefix}{site.name}.py"
    if not bare:
        yield f"{stem}.py"
    yield from (f"{prefix}{name}" for name in _PACKAGE)
    if not bare:
        yield f"{stem}.pyi"


def _ecma(site: ImportSite) -> Candidates:
    module = site.module
    if module.startswith("."):
        stem = "^" + normpath(join(dirname(site.path), module))
    elif module.startswith(("@/", "~/")):
        stem = "src/" + module[2:]
    else:
        return
    yield stem
    bare, suffix = splitext(stem)
    for base in (stem, bare) if suffix in (".js", ".jsx", ".mjs", ".cjs") else (stem,):
        yield from (base + end for end in _ECMA)
    yield from (f"{stem}/index{end}" for end in _ECMA)


def _jvm(site: ImportSite) -> Candidates:
    parts = [*site.module.split("."), *([site.name] if site.name not in ("", "*") else [])]
    # A static import names a member: the file is one or two steps up.
    for length in range(len(parts), max(len(parts) - 3, 0), -1):
        yield from ("/".join(parts[:length]) + end for end in _JVM)


def _rust(site: ImportSite) -> Candidates:
    parts = [*site.module.split("::"), *([site.name] if site.name not in ("", "*") else [])]
    base = dirname(site.path)
    own = splitext(site.path)[0]
    if parts[0] == "crate":
        head, parts = "src", parts[1:]
    elif parts[0] in ("self", "super"):
        head = "^" + (base if site.path.endswith(("mod.rs", "lib.rs", "main.rs")) else own)
        while parts and parts[0] in ("self", "super"):
            head = dirname(head) if parts[0] == "super" else head
            parts = parts[1:]
    else:
        head, parts = f"{parts[0]}/src", parts[1:]
    for length in range(len(parts), -1, -1):
        stem = "/".join((head, *parts[:length]))
        yield from (f"{stem}.rs", f"{stem}/mod.rs", f"{stem}/lib.rs")


def _c(site: ImportSite) -> Candidates:
    yield "^" + normpath(join(dirname(site.path), site.module))
    yield normpath(site.module).lstrip("./")


def _ruby(site: ImportSite) -> Candidates:
    yield "^" + normpath(join(dirname(site.path), site.module)) + ".rb"
    yield f"lib/{site.module}.rb"
    yield f"{site.module}.rb"


def _php(site: ImportSite) -> Candidates:
    parts = [part for part in (*site.module.split("\\"), site.name) if part]
    yield "^" + normpath(join(dirname(site.path), site.module))
    for start in range(min(len(parts), 3)):
        yield "/".join(parts[start:]) + ".php"


def _lua(site: ImportSite) -> Candidates:
    stem = site.module.replace(".", "/")
    yield from (f"{stem}.lua", f"{stem}/init.lua")


def _bash(site: ImportSite) -> Candidates:
    yield "^" + normpath(join(dirname(site.path), site.module))
    yield site.module.rpartition("/")[2]


_READERS: dict[str, Callable[[ImportSite], Candidates]] = {
    "python": _python,
    "ecma": _ecma,
    "jvm": _jvm,
    "rust": _rust,
    "c": _c,
    "ruby": _ruby,
    "php": _php,
    "lua": _lua,
    "bash": _bash,
}
