"""Names → definitions, from the facts: exact, then but for case, then prefix, then sub-words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import sqrt
from typing import NamedTuple

from gitindex.extract.tokens import subwords
from gitindex.search.filekind import file_kind
from gitindex.search.lexical import LexicalSearcher
from gitindex.search.parse import last_name
from gitindex.search.scope import SearchScope
from gitindex.view.snapshot import SnapshotView

_SELECT = (
    "SELECT f.path, f.language, s.name, s.qualified_name, s.kind, s.line, s.column, s.end_line, s.signature, s.doc "
    "FROM symbol s JOIN file f ON f.id = s.file "
)
_IS = "WHERE s.name = ? COLLATE NOCASE"
_BEGINS = "WHERE s.name > ? COLLATE NOCASE AND s.name < ? COLLATE NOCASE"
_AROUND = (
    "SELECT f.path, s.qualified_name, s.kind FROM symbol s JOIN file f ON f.id = s.file "
    "WHERE f.path = ? AND s.line <= ? AND s.end_line >= ? ORDER BY s.line DESC, s.end_line, s.ordinal LIMIT 1"
)
_CHUNKS = 200  # looked through for definitions whose names hold the words
_MOST = 2000  # rows of one tier and segment: a prefix of one letter must not read the whole table
_EXACT, _FOLDED, _PREFIX, _PARTS = 1.0, 0.9, 0.6, 0.4
_AFTER = chr(0x10FFFF)
# A definition people look for before one that merely has a name.
_WEIGHT = {"variable": 0.9, "field": 0.9, "constant": 0.95, "key": 0.7, "heading": 0.7}
_QUIET = {"test": 0.9, "example": 0.9, "vendored": 0.85, "generated": 0.8, "stub": 0.95, "doc": 0.85}


class ScoredDefinition(NamedTuple):
    path: str
    language: str
    name: str
    qualified_name: str
    kind: str
    line: int
    column: int
    end_line: int
    signature: str
    doc: str
    score: float


class DefinitionMatches(NamedTuple):
    """Some definitions, and what is known of the others."""

    items: list[ScoredDefinition]
    further_count: int = 0  # others counted
    maybe_more: bool = False  # there may be others that nobody counted


def find(
    view: SnapshotView,
    open_lexical: Callable[[], LexicalSearcher],
    wanted_name: str,
    scope: SearchScope,
    limit: int,
) -> DefinitionMatches:
    """Best first. `open_lexical` opens the lexical index, for sub-words only."""
    name = last_name(wanted_name)
    named = _select_definitions(view, _IS, (name,), wanted_name, scope)
    if not name or len(named.items) > limit:
        begun = DefinitionMatches([], maybe_more=bool(name))
    else:
        begun = _select_definitions(view, _BEGINS, (name, name + _AFTER), wanted_name, scope)
    cut = named.maybe_more or begun.maybe_more
    if len(named.items) >= limit:
        return DefinitionMatches(sort_definitions(named.items), len(begun.items), cut)
    found = named.items + begun.items
    return (
        DefinitionMatches(sort_definitions(found), maybe_more=cut)
        if found
        else _find_by_subwords(view, open_lexical(), wanted_name, scope, limit)
    )


def find_exact(view: SnapshotView, names: Iterable[str], scope: SearchScope) -> list[ScoredDefinition]:
    """Definitions of these very names, case aside."""
    return sort_definitions(
        definition
        for name in names
        for definition in _select_definitions(view, _IS, (last_name(name),), name, scope).items
    )


def find_rare(
    view: SnapshotView, names: Iterable[str], scope: SearchScope, most: int
) -> dict[ScoredDefinition, float]:
    """Definitions of names that at most so many places define, case aside: the fewer, the more each says."""
    found: dict[ScoredDefinition, float] = {}
    for name in names:
        definitions = _select_definitions(view, _IS, (last_name(name),), name, scope, most + 1).items
        if len(definitions) <= most:
            found.update((item, 1 / sqrt(len(definitions))) for item in definitions)
    return found


def find_enclosing(view: SnapshotView, path: str, line: int) -> tuple[str, str]:
    """Qualified name and kind of the innermost definition that the line is part of, ("", "") without any."""
    row = next(view.select(_AROUND, (path, line, line)), None)
    return (row.values[0], row.values[1]) if row else ("", "")


def sort_definitions(definitions: Iterable[ScoredDefinition]) -> list[ScoredDefinition]:
    best: dict[tuple[str, int, int], ScoredDefinition] = {}
    for item in definitions:
        key = item.path, item.line, item.column
        if key not in best or best[key].score < item.score:
            best[key] = item
    return sorted(best.values(), key=lambda item: (-item.score, item.path, item.line, item.column))


def _select_definitions(
    view: SnapshotView,
    where: str,
    parameters: tuple[str, ...],
    wanted_name: str,
    scope: SearchScope,
    most: int = _MOST,
) -> DefinitionMatches:
    rows = list(view.select(f"{_SELECT}{where} LIMIT {most}", parameters))
    judged = (
        _score_definition(ScoredDefinition._make((row.path, *row.values, 0.0)), wanted_name, scope)
        for row in rows
    )
    return DefinitionMatches([found for found in judged if found.score], maybe_more=len(rows) >= most)


def _find_by_subwords(
    view: SnapshotView, lexical: LexicalSearcher, wanted_name: str, scope: SearchScope, limit: int
) -> DefinitionMatches:
    parts = subwords(wanted_name)
    depth = max(limit, _CHUNKS)
    chunks = lexical.find_named(parts, scope._replace(kinds=None, not_kinds=frozenset()), depth)
    found: list[ScoredDefinition] = []
    for path in dict.fromkeys(chunk.path for chunk in chunks):
        found += _select_definitions(view, "WHERE f.path = ?", (path,), wanted_name, scope).items
    return DefinitionMatches(sort_definitions(found), maybe_more=len(chunks) >= depth)


def _score_definition(definition: ScoredDefinition, wanted_name: str, scope: SearchScope) -> ScoredDefinition:
    """Score 0 for what is no match after all."""
    if not scope.admits(definition.path, definition.language, definition.kind):
        return definition
    tier = _match_tier(definition, wanted_name)
    weight = _WEIGHT.get(definition.kind, 1.0) * _QUIET.get(file_kind(definition.path), 1.0)
    return definition._replace(score=round(tier * weight, 6))


def _match_tier(definition: ScoredDefinition, wanted_name: str) -> float:
    name, last = definition.name, last_name(wanted_name)
    if name.lower() == last.lower():
        tier = _EXACT if name == last else _FOLDED
        return (
            tier
            if last == wanted_name or _matches_qualified(definition.qualified_name, wanted_name)
            else 0.5 * tier
        )
    if name.lower().startswith(last.lower()):
        return _PREFIX * (0.5 + 0.5 * len(last) / len(name))
    parts, have = set(subwords(wanted_name)), set(subwords(definition.qualified_name))
    own = set(subwords(name))
    if parts and parts <= have and parts & own:
        return _PARTS * (0.5 + 0.5 * len(parts) / len(have))
    return 0.0


def _matches_qualified(qualified_name: str, wanted_name: str) -> bool:
    """`a.B.c` for `B.c`, whatever stands between the names."""
    want = wanted_name.replace("::", ".").replace("->", ".").replace("#", ".").lower()
    return qualified_name.lower() == want or qualified_name.lower().endswith("." + want)
