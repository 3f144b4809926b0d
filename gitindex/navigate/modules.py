"""Which files an import means, by paths and the conventions of each language; no build system is asked.

An import becomes a list of path patterns, best first. A pattern is either an exact path or the end of one (the source
root is not known; a Python package is none). The first pattern that a file matches wins; of several files with the same
end, those nearest to the importing file do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from posixpath import dirname, join, normpath, splitext

from gitindex.navigate.fact_queries import ImportSite, language_family

_ECMA = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".json")
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".h++")
_BODIES = (".c", ".cc", ".cpp", ".cxx", ".m", ".mm")
_JVM = (".java", ".kt", ".scala", ".groovy")
_PACKAGE = ("__init__.py", "__init__.pyi")
# `^` marks a path from the root of the codebase; anything else is the end of a path, after `%` below a source root.
PathPatterns = Iterator[str]


class Modules:
    """Resolves imports against the paths of one snapshot."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = set(paths)
        self._by_ending: dict[str, list[str]] = defaultdict(list)  # by the last name, and by the last two
        self._matches_by_pattern: dict[str, list[str]] = {}
        self._folders: dict[str, list[str]] = defaultdict(list)
        self._packages: set[str] = set()
        for path in sorted(self._paths):
            for ending in {_last_parts(path, 1), _last_parts(path, 2)}:
                self._by_ending[ending].append(path)
            folder = dirname(path)
            self._folders[folder].append(path)
            if folder and path[len(folder) + 1 :] in _PACKAGE:
                self._packages.add(folder)

    def find_files(self, site: ImportSite) -> tuple[str, ...]:
        """The files that hold what the import names; empty for anything outside the codebase."""
        if site.language == "go":
            return self._resolve_go(site)
        list_patterns = _PATTERN_RULES.get(language_family(site.language))
        if list_patterns is None:
            return ()
        for pattern in list_patterns(site):
            paths = self._lookup(pattern, site.path)
            if paths:
                return tuple(path for path in paths if path != site.path) or tuple(paths)
        return (
            self._package_files(site) if language_family(site.language) == "jvm" and site.name == "*" else ()
        )

    def neighbours(self, path: str) -> list[str]:
        """Files of the same directory."""
        return self._folders[dirname(path)]

    def implementation_files(self, header: str) -> list[str]:
        """Implementation files that belong to a C header, by name."""
        stem, suffix = splitext(header)
        if suffix not in _HEADERS:
            return []
        name = stem.rpartition("/")[2]
        beside = [stem + extension for extension in _BODIES if stem + extension in self._paths]
        return beside or [path for end in _BODIES for path in self._by_ending.get(name + end, ())]

    def _lookup(self, pattern: str, importer: str) -> list[str]:
        if pattern.startswith("^"):
            exact = pattern[1:]
            return [exact] if exact in self._paths else []
        if pattern not in self._matches_by_pattern:
            self._matches_by_pattern[pattern] = self._match_ending(pattern)
        return _nearest(self._matches_by_pattern[pattern], importer)

    def _match_ending(self, pattern: str) -> list[str]:
        ending = pattern.removeprefix("%")
        same_name = self._by_ending.get(_last_parts(ending, 2), ())
        matches = [path for path in same_name if path == ending or path.endswith("/" + ending)]
        if ending == pattern:
            return matches
        # What lies in a package has the package's name before its own: `import json` is not `flask/json`.
        return [path for path in matches if path[: -len(ending) - 1] not in self._packages]

    def _package_files(self, site: ImportSite) -> tuple[str, ...]:
        package_path = site.module.replace(".", "/")
        return tuple(
            path
            for folder, paths in self._folders.items()
            if folder == package_path or folder.endswith("/" + package_path)
            for path in paths
            if path.endswith(_JVM)
        )

    def _resolve_go(self, site: ImportSite) -> tuple[str, ...]:
        """A package is a directory: the longest end of the import path that is one. Standard packages have no dot."""
        parts = site.module.split("/")
        has_host = "." in parts[0]
        for start in range(1 if has_host else 0, len(parts) if has_host else 1):
            folder = "/".join(parts[start:])
            files = [path for path in self._folders.get(folder, ()) if path.endswith(".go")]
            if files:
                return tuple(path for path in files if not path.endswith("_test.go"))
        return ()


def _last_parts(path: str, count: int) -> str:
    return "/".join(path.rsplit("/", count)[-count:])


def _nearest(paths: list[str], importer: str) -> list[str]:
    if len(paths) < 2:
        return paths
    depths = {path: _shared_depth(path, importer) for path in paths}
    best = max(depths.values())
    nearest = [path for path in paths if depths[path] == best]
    shortest = min(path.count("/") for path in nearest)
    return [path for path in nearest if path.count("/") == shortest]


def _shared_depth(path: str, other: str) -> int:
    count = 0
    for part, other_part in zip(path.split("/")[:-1], other.split("/")[:-1], strict=False):
        if part != other_part:
            break
        count += 1
    return count


def _python_patterns(site: ImportSite) -> PathPatterns:
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
    is_root = stem in ("%", "^")
    prefix = stem if is_root else f"{stem}/"
    if site.name and site.name != "*":
        yield f"{prefix}{site.name}.py"
    if not is_root:
        yield f"{stem}.py"
    yield from (f"{prefix}{name}" for name in _PACKAGE)
    if not is_root:
        yield f"{stem}.pyi"


def _ecma_patterns(site: ImportSite) -> PathPatterns:
    module = site.module
    if module.startswith("."):
        stem = "^" + normpath(join(dirname(site.path), module))
    elif module.startswith(("@/", "~/")):
        stem = "src/" + module[2:]
    else:
        return
    yield stem
    stem_without_suffix, suffix = splitext(stem)
    for base in (stem, stem_without_suffix) if suffix in (".js", ".jsx", ".mjs", ".cjs") else (stem,):
        yield from (base + extension for extension in _ECMA)
    yield from (f"{stem}/index{end}" for end in _ECMA)


def _jvm_patterns(site: ImportSite) -> PathPatterns:
    parts = [*site.module.split("."), *([site.name] if site.name not in ("", "*") else [])]
    # A static import names a member: the file is one or two steps up.
    for length in range(len(parts), max(len(parts) - 3, 0), -1):
        yield from ("/".join(parts[:length]) + extension for extension in _JVM)


def _rust_patterns(site: ImportSite) -> PathPatterns:
    parts = [*site.module.split("::"), *([site.name] if site.name not in ("", "*") else [])]
    base = dirname(site.path)
    module_stem = splitext(site.path)[0]
    if parts[0] == "crate":
        head, parts = "src", parts[1:]
    elif parts[0] in ("self", "super"):
        head = "^" + (base if site.path.endswith(("mod.rs", "lib.rs", "main.rs")) else module_stem)
        while parts and parts[0] in ("self", "super"):
            head = dirname(head) if parts[0] == "super" else head
            parts = parts[1:]
    else:
        head, parts = f"{parts[0]}/src", parts[1:]
    for length in range(len(parts), -1, -1):
        stem = "/".join((head, *parts[:length]))
        yield from (f"{stem}.rs", f"{stem}/mod.rs", f"{stem}/lib.rs")


def _c_patterns(site: ImportSite) -> PathPatterns:
    yield "^" + normpath(join(dirname(site.path), site.module))
    yield normpath(site.module).lstrip("./")


def _ruby_patterns(site: ImportSite) -> PathPatterns:
    yield "^" + normpath(join(dirname(site.path), site.module)) + ".rb"
    yield f"lib/{site.module}.rb"
    yield f"{site.module}.rb"


def _php_patterns(site: ImportSite) -> PathPatterns:
    parts = [part for part in (*site.module.split("\\"), site.name) if part]
    yield "^" + normpath(join(dirname(site.path), site.module))
    for start in range(min(len(parts), 3)):
        yield "/".join(parts[start:]) + ".php"


def _lua_patterns(site: ImportSite) -> PathPatterns:
    stem = site.module.replace(".", "/")
    yield from (f"{stem}.lua", f"{stem}/init.lua")


def _bash_patterns(site: ImportSite) -> PathPatterns:
    yield "^" + normpath(join(dirname(site.path), site.module))
    yield site.module.rpartition("/")[2]


_PATTERN_RULES: dict[str, Callable[[ImportSite], PathPatterns]] = {
    "python": _python_patterns,
    "ecma": _ecma_patterns,
    "jvm": _jvm_patterns,
    "rust": _rust_patterns,
    "c": _c_patterns,
    "ruby": _ruby_patterns,
    "php": _php_patterns,
    "lua": _lua_patterns,
    "bash": _bash_patterns,
}
