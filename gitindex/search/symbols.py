"""Names → definitions, from the facts: exact, then but for case, then prefix, then sub-words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import sqrt
from typing import NamedTuple

from gitindex.extract.tokens import subwords
from gitindex.search.filekind import file_kind
from gitindex.search.lexical import Words
from gitindex.search.parse import last_name
from gitindex.search.scope import Scope
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


class Definition(NamedTuple):
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


class Definitions(NamedTuple):
    """Some definitions, and what is known of the others."""

    found: list[Definition]
    beyond: int = 0  # others counted
    open: bool = False  # there may be others that nobody counted


def find(
    view: SnapshotView, words: Callable[[], Words], wanted: str, scope: Scope, limit: int
) -> Definitions:
    """Best first. `words` opens the lexical index, for sub-words only."""
    name = last_name(wanted)
    named = _named(view, _IS, (name,), wanted, scope)
    if not name or len(named.found) > limit:
        begun = Definitions([], open=bool(name))
    else:
        begun = _named(view, _BEGINS, (name, name + _AFTER), wanted, scope)
    cut = named.open or begun.open
    if len(named.found) >= limit:
        return Definitions(ordered(named.found), len(begun.found), cut)
    found = named.found + begun.found
    return Definitions(ordered(found), open=cut) if found else _by_parts(view, words(), wanted, scope, limit)


def exact(view: SnapshotView, names: Iterable[str], scope: Scope) -> list[Definition]:
    """Definitions of these very names, case aside."""
    return ordered(
        definition
        for name in names
        for definition in _named(view, _IS, (last_name(name),), name, scope).found
    )


def find_rare(view: SnapshotView, names: Iterable[str], scope: Scope, most: int) -> dict[Definition, float]:
    """Definitions of names that at most so many places define, case aside: the fewer, the more each says."""
    found: dict[Definition, float] = {}
    for name in names:
        definitions = _named(view, _IS, (last_name(name),), name, scope, most + 1).found
        if len(definitions) <= most:
            found.update((item, 1 / sqrt(len(definitions))) for item in definitions)
    return found


def around(view: SnapshotView, path: str, line: int) -> tuple[str, str]:
    """Qualified name and kind of the innermost definition that the line is part of, ("", "") without any."""
    row = next(view.select(_AROUND, (path, line, line)), None)
    return (row.values[0], row.values[1]) if row else ("", "")


def ordered(found: Iterable[Definition]) -> list[Definition]:
    best: dict[tuple[str, int, int], Definition] = {}
    for item in found:
        key = item.path, item.line, item.column
        if key not in best or best[key].score < item.score:
            best[key] = item
    return sorted(best.values(), key=lambda item: (-item.score, item.path, item.line, item.column))


def _named(
    view: SnapshotView, where: str, parameters: tuple[str, ...], wanted: str, scope: Scope, most: int = _MOST
) -> Definitions:
    rows = list(view.select(f"{_SELECT}{where} LIMIT {most}", parameters))
    judged = (_judge(Definition._make((row.path, *row.values, 0.0)), wanted, scope) for row in rows)
    return Definitions([found for found in judged if found.score], open=len(rows) >= most)


def _by_parts(view: SnapshotView, words: Words, wanted: str, scope: Scope, limit: int) -> Definitions:
    parts = subwords(wanted)
    depth = max(limit, _CHUNKS)
    chunks = words.named(parts, scope._replace(kinds=None, not_kinds=frozenset()), depth)
    found: list[Definition] = []
    for path in dict.fromkeys(chunk.path for chunk in chunks):
        found += _named(view, "WHERE f.path = ?", (path,), wanted, scope).found
    return Definitions(ordered(found), open=len(chunks) >= depth)


def _judge(found: Definition, wanted: str, scope: Scope) -> Definition:
    """Score 0 for what is no match after all."""
    if not scope.admits(found.path, found.language, found.kind):
        return found
    tier = _tier(found, wanted)
    weight = _WEIGHT.get(found.kind, 1.0) * _QUIET.get(file_kind(found.path), 1.0)
    return found._replace(score=round(tier * weight, 6))


def _tier(found: Definition, wanted: str) -> float:
    name, last = found.name, last_name(wanted)
    if name.lower() == last.lower():
        tier = _EXACT if name == last else _FOLDED
        return tier if last == wanted or _qualified(found.qualified_name, wanted) else 0.5 * tier
    if name.lower().startswith(last.lower()):
        return _PREFIX * (0.5 + 0.5 * len(last) / len(name))
    parts, have = set(subwords(wanted)), set(subwords(found.qualified_name))
    own = set(subwords(name))
    if parts and parts <= have and parts & own:
        return _PARTS * (0.5 + 0.5 * len(parts) / len(have))
    return 0.0


def _qualified(have: str, wanted: str) -> bool:
    """`a.B.c` for `B.c`, whatever stands between the names."""
    want = wanted.replace("::", ".").replace("->", ".").replace("#", ".").lower()
    return have.lower() == want or have.lower().endswith("." + want)
