"""A map of the codebase within a token budget: the definitions that are used most (QU-3).

Files point at the files that define the names they use and import; a rare name is a strong hint, one that half the
codebase defines is ignored. PageRank of that graph ranks the files; the rank of a file goes to the definitions it uses.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from gitindex.model.foreign import escape_line
from gitindex.model.frozen import field, frozen
from gitindex.model.json_answer import json_key
from gitindex.navigate import file_imports
from gitindex.navigate.fact_queries import (
    CALLABLES,
    CONTAINERS,
    PACKAGE_SCOPE,
    DefinitionSite,
    language_family,
)
from gitindex.navigate.pagerank import pagerank
from gitindex.view.snapshot import SnapshotView

DEFAULT_TOKENS = 2000
_CHARS_PER_TOKEN = 4  # an estimate
_MIN_NAME_LENGTH = 3
_MAX_DEFINERS = 12
_MEMBER_WEIGHT = 0.2
_UNIMPORTED_MEMBER_WEIGHT = 0.02  # a member reached through a value: matched by name only
_PRIVATE_WEIGHT = 0.1
# Languages whose imports `modules` can follow: a name that was not imported means something else.
_IMPORTING = frozenset(
    {"python", "javascript", "typescript", "tsx", "go", "java", "kotlin", "scala", "rust", "ruby"}
)
_KINDS = CALLABLES | CONTAINERS | {"constant"}


class _RankedDefinition(NamedTuple):
    definition: DefinitionSite
    score: float


@frozen
class MapSymbol:
    """A definition of the map; `name` is its qualified name."""

    name: str
    kind: str
    line: int
    signature: str


@frozen
class MapFile:
    path: str
    rank: float
    symbols: tuple[MapSymbol, ...]


@frozen
class OmittedCounts:
    """What the token budget kept out of the map."""

    files: int
    symbols: int


@frozen
class RepoMap:
    budget_tokens: int
    tokens: int
    files: tuple[MapFile, ...]
    omitted: OmittedCounts
    text: str = field(metadata=json_key("map"))
    precision: str = "syntactic"

    @property
    def truncated(self) -> bool:
        return self.omitted.symbols > 0


def count_tokens(text: str) -> int:
    return math.ceil(len(text) / _CHARS_PER_TOKEN)


def build_repo_map(view: SnapshotView, budget: int, focus: Sequence[str] = ()) -> RepoMap:
    """The map as text and as values. `focus` paths draw the map towards what they use."""
    definitions = _select_definitions(view)
    ranked, files = _rank(view, definitions, focus)
    selected = _fit_budget(ranked, files, budget)
    text = _render(selected, files)
    groups = _group_by_file(selected, files)
    return RepoMap(
        budget_tokens=budget,
        tokens=count_tokens(text),
        files=tuple(_make_file(path, files.get(path, 0.0), items) for path, items in groups),
        omitted=OmittedCounts(
            files=len({item.definition.path for item in ranked}) - len(groups),
            symbols=len(ranked) - len(selected),
        ),
        text=text,
    )


def _make_file(path: str, rank: float, items: Sequence[DefinitionSite]) -> MapFile:
    symbols = (MapSymbol(item.qualified_name, item.kind, item.line, item.signature) for item in items)
    return MapFile(path, round(rank, 6), tuple(symbols))


def _select_definitions(view: SnapshotView) -> list[DefinitionSite]:
    marks = ",".join("?" * len(_KINDS))
    sql = (
        "SELECT f.path, f.language, s.ordinal, s.name, s.qualified_name, s.kind, s.line, s.column, s.end_line, "  # noqa: S608
        f"s.end_column, s.signature, '', s.parent FROM symbol s JOIN file f ON f.id = s.file WHERE s.kind IN ({marks})"
    )
    definitions = [DefinitionSite(path, *rest) for path, rest in view.select(sql, sorted(_KINDS))]
    return sorted(definitions, key=lambda item: item.place)


def _rank(
    view: SnapshotView, definitions: list[DefinitionSite], focus: Sequence[str]
) -> tuple[list[_RankedDefinition], dict[str, float]]:
    definers: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, item in enumerate(definitions):
        if len(item.name) >= _MIN_NAME_LENGTH:
            definers[language_family(item.language), item.name].append(index)
    use_weights = _UseWeights(view)
    uses: dict[tuple[str, str], float] = defaultdict(float)
    hints: list[tuple[str, int, float]] = []
    rows = view.select("SELECT f.path, f.language, i.name FROM identifier i JOIN file f ON f.id = i.file")
    for path, (language, name) in rows:
        definer_indexes = definers.get((language_family(language), name), ())
        if not 0 < len(definer_indexes) <= _MAX_DEFINERS:
            continue
        for index in definer_indexes:
            item = definitions[index]
            weight = use_weights.weight(path, item) / len(definer_indexes) if item.path != path else 0.0
            if weight:
                uses[path, item.path] += weight
                hints.append((path, index, weight))
    nodes = sorted({item.path for item in definitions} | {path for path, _ in uses})
    rank = pagerank(nodes, uses, dict.fromkeys(focus, 1.0) if focus else None)
    total_weights: dict[str, float] = defaultdict(float)
    for path, _, weight in hints:
        total_weights[path] += weight
    score = [rank.get(item.path, 0.0) * 1e-3 for item in definitions]
    for path, index, weight in hints:
        score[index] += rank[path] * weight / max(total_weights[path], 1.0)
    ranked = [
        _RankedDefinition(item, value * (_PRIVATE_WEIGHT if item.name.startswith("_") else 1.0))
        for item, value in zip(definitions, score, strict=True)
    ]
    ranked.sort(key=lambda item: (-item.score, item.definition.place))
    return ranked, rank


class _UseWeights:
    """Weight of a name match: high when the file imports the defining file, low or zero when it does not."""

    def __init__(self, view: SnapshotView) -> None:
        self._imported: dict[str, set[str]] = defaultdict(set)
        edges, _ = file_imports.resolve_imports(view)
        for edge in edges:
            self._imported[edge.source].add(edge.target)

    def weight(self, path: str, item: DefinitionSite) -> float:
        if item.path in self._imported[path]:
            return _MEMBER_WEIGHT if item.owner else 1.0
        same_directory = item.path.rpartition("/")[0] == path.rpartition("/")[0]
        if item.language not in _IMPORTING or (same_directory and item.language in PACKAGE_SCOPE):
            return 1.0 if item.kind in CONTAINERS else 0.5
        return _UNIMPORTED_MEMBER_WEIGHT if item.owner else 0.0


def _fit_budget(
    ranked: list[_RankedDefinition], files: dict[str, float], budget: int
) -> list[_RankedDefinition]:
    """The best definitions that fit, by binary search: the text grows with every definition."""
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(_render(ranked[:middle], files)) <= budget:
            low = middle
        else:
            high = middle - 1
    return ranked[:low]


def _group_by_file(
    ranked: list[_RankedDefinition], files: dict[str, float]
) -> list[tuple[str, list[DefinitionSite]]]:
    groups: dict[str, list[DefinitionSite]] = defaultdict(list)
    for item in ranked:
        groups[item.definition.path].append(item.definition)
    ordered = sorted(groups, key=lambda path: (-files.get(path, 0.0), path))
    return [(path, sorted(groups[path], key=lambda item: item.line)) for path in ordered]


def _render(ranked: list[_RankedDefinition], files: dict[str, float]) -> str:
    lines = []
    for path, items in _group_by_file(ranked, files):
        lines.append(escape_line(f"{path}:"))
        lines += [
            f"{'  ' * (1 + item.qualified_name.count('.'))}{item.signature or item.name}" for item in items
        ]
    return "\n".join(lines)
