"""Queries to the facts of a snapshot, with values as results. Navigation reads facts only here and through the view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gitindex.model import callsites, postings
from gitindex.view.snapshot import SnapshotView

CONTAINERS = frozenset({"class", "interface", "struct", "enum", "trait", "module", "type"})
CALLABLES = frozenset({"function", "method", "macro"})
# All files of a directory share one scope.
PACKAGE_SCOPE = frozenset({"go", "java", "kotlin", "scala"})
_FAMILIES = {
    "javascript": "ecma", "typescript": "ecma", "tsx": "ecma", "vue": "ecma", "svelte": "ecma",
    "java": "jvm", "kotlin": "jvm", "scala": "jvm", "groovy": "jvm",
    "c": "c", "cpp": "c", "objc": "c",
}  # fmt: skip
_DEFINITION = (
    "f.path, f.language, s.ordinal, s.name, s.qualified_name, s.kind, s.line, s.column, s.end_line, s.end_column, "
    "s.signature, s.doc, s.parent"
)


class DefinitionSite(NamedTuple):
    """A named thing in a file. `line` and `column` are those of its name."""

    path: str
    language: str
    ordinal: int
    name: str
    qualified_name: str
    kind: str
    line: int
    column: int
    end_line: int
    end_column: int
    signature: str
    doc: str
    parent: int
    layer: str = "syntactic"

    @property
    def id(self) -> str:
        """Stable as long as the definition stays where it is."""
        return f"{self.path}#{self.qualified_name}:{self.line}"

    @property
    def owner(self) -> str:
        """Qualified name of what it is a member of, "" at the top of its file."""
        return self.qualified_name.rpartition(".")[0]

    @property
    def place(self) -> tuple[str, int, int]:
        return self.path, self.line, self.column

    def spans(self, line: int) -> bool:
        return self.line <= line <= self.end_line


class CallSite(NamedTuple):
    path: str
    language: str
    callee: str
    receiver: str
    line: int
    column: int
    caller: int  # ordinal of the innermost enclosing definition, -1 at file level


class ImportSite(NamedTuple):
    path: str
    language: str
    module: str
    name: str
    alias: str
    line: int

    @property
    def local_name(self) -> str:
        """The name it is known by in its file, "" for a bare module."""
        return self.alias or self.name


class IdentifierPositions(NamedTuple):
    path: str
    language: str
    positions: tuple[tuple[int, int], ...]


def language_family(language: str) -> str:
    """The family of a language: languages of one family can refer to each other's definitions."""
    return _FAMILIES.get(language, language)


def definitions_named(view: SnapshotView, name: str, *, any_case: bool = False) -> list[DefinitionSite]:
    """Definitions by last name, sorted by place."""
    match = "s.name = ? COLLATE NOCASE" + ("" if any_case else " AND s.name = ?")
    values = (name,) if any_case else (name, name)
    return _select_definitions(view, f"WHERE {match}", values)


def find_names(view: SnapshotView, prefix: str, limit: int) -> list[str]:
    """Names that begin alike, for suggestions."""
    sql = (
        "SELECT DISTINCT f.path, s.name FROM symbol s JOIN file f ON f.id = s.file "
        "WHERE s.name >= ? COLLATE NOCASE AND s.name < ? COLLATE NOCASE LIMIT ?"
    )
    rows = view.select(sql, (prefix, prefix + "\U0010ffff", limit))
    return sorted({row.values[0] for row in rows})


def definitions_in(view: SnapshotView, path: str) -> list[DefinitionSite]:
    return sorted(_select_definitions(view, "WHERE f.path = ?", (path,)), key=lambda item: item.ordinal)


def calls_in(view: SnapshotView, path: str) -> list[CallSite]:
    sql = (
        "SELECT f.path, f.language, c.callees, c.receivers, c.places "
        "FROM call c JOIN file f ON f.id = c.file WHERE f.path = ?"
    )
    return _sort_calls(
        CallSite(path, language, *call)
        for path, (language, *packed) in view.select(sql, (path,))
        for call in callsites.unpack(*packed)
    )


def calls_named(view: SnapshotView, name: str) -> list[CallSite]:
    sql = (
        "SELECT f.path, f.language, n.number, c.receivers, c.places "
        "FROM callee n JOIN call c ON c.file = n.file JOIN file f ON f.id = n.file WHERE n.name = ?"
    )
    return _sort_calls(
        CallSite(path, language, *call)
        for path, (language, *packed) in view.select(sql, (name,))
        for call in callsites.unpack_named(name, *packed)
    )


def imports_in(view: SnapshotView, path: str) -> list[ImportSite]:
    return _select_imports(view, "WHERE f.path = ?", (path,))


def all_imports(view: SnapshotView) -> list[ImportSite]:
    return _select_imports(view, "", ())


def renaming_imports(view: SnapshotView, name: str) -> list[ImportSite]:
    """Imports that give `name` another name in their file."""
    return _select_imports(view, "WHERE i.name = ? AND i.alias != ''", (name,))


def occurrences_of(view: SnapshotView, name: str) -> Iterator[IdentifierPositions]:
    """Every place where the syntax tree of a file holds this identifier, files in no particular order."""
    sql = "SELECT f.path, f.language, i.positions FROM identifier i JOIN file f ON f.id = i.file WHERE i.name = ?"
    for path, (language, blob) in view.select(sql, (name,)):
        yield IdentifierPositions(path, language, tuple(postings.unpack(blob)))


def positions_in(view: SnapshotView, name: str, path: str) -> set[tuple[int, int]]:
    """Where one file holds an identifier."""
    sql = "SELECT f.path, i.positions FROM file f JOIN identifier i ON i.file = f.id AND i.name = ? WHERE f.path = ?"
    return {position for _, (blob,) in view.select(sql, (name, path)) for position in postings.unpack(blob)}


def read_languages(view: SnapshotView) -> dict[str, str]:
    """Every indexed path with its language."""
    rows = view.select("SELECT f.path, f.language FROM file f WHERE f.skip = ''")
    return {row.path: row.values[0] for row in rows}


def _select_definitions(view: SnapshotView, where: str, values: tuple[Any, ...]) -> list[DefinitionSite]:
    sql = f"SELECT {_DEFINITION} FROM symbol s JOIN file f ON f.id = s.file {where}"  # noqa: S608
    definitions = [DefinitionSite(path, *rest) for path, rest in view.select(sql, values)]
    return sorted(definitions, key=lambda item: item.place)


def _sort_calls(sites: Iterable[CallSite]) -> list[CallSite]:
    return sorted(sites, key=lambda item: (item.path, item.line, item.column))


def _select_imports(view: SnapshotView, where: str, values: tuple[Any, ...]) -> list[ImportSite]:
    sql = (
        "SELECT f.path, f.language, i.module, i.name, i.alias, i.line "  # noqa: S608
        f"FROM import i JOIN file f ON f.id = i.file {where}"
    )
    sites = [ImportSite(path, *rest) for path, rest in view.select(sql, values)]
    return sorted(sites, key=lambda item: (item.path, item.line))
