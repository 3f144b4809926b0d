"""The seam between kinds of knowledge: each layer answers for the files it covers, the most exact one first.

A layer is a source of definitions, references and calls with one precision. The syntactic layer covers every
indexed file; a semantic layer covers the files whose imported facts are clean. A file is answered for by the first
layer that covers it and by no other, so lists of one precision never hold guesses of another (QU-3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

from gitindex.navigate.fact_queries import DefinitionSite

PathFilter = Callable[[str], bool]


class Reference(NamedTuple):
    path: str
    line: int
    column: int
    role: str  # call | import | reference
    precision: str  # semantic | syntactic, or text: only the name agrees
    how: str  # the rule that tied it to the definition
    text: str = ""  # the source line


class Edge(NamedTuple):
    """A call. `caller` is None for code at file level."""

    caller: DefinitionSite | None
    callee: DefinitionSite
    path: str
    line: int
    column: int
    precision: str
    how: str


class CandidateCall(NamedTuple):
    """A call that no rule decides: definitions that have the name, nothing more."""

    caller: DefinitionSite | None
    name: str
    receiver: str
    path: str
    line: int
    column: int
    definitions: tuple[DefinitionSite, ...]


@dataclass(slots=True)
class References:
    """Occurrences tied to the asked definitions, and those that merely share the name."""

    proven: list[Reference] = field(default_factory=list)
    candidates: list[Reference] = field(default_factory=list)


@dataclass(slots=True)
class Calls:
    edges: list[Edge] = field(default_factory=list)
    candidates: list[CandidateCall] = field(default_factory=list)
    external: dict[str, int] = field(default_factory=dict)  # names nobody defines here


class Layer(Protocol):
    @property
    def precision(self) -> str: ...

    def covers(self, path: str) -> bool:
        """Does this layer answer for the file as it is in the snapshot?"""

    def find_definitions(self, name: str) -> list[DefinitionSite]:
        """By name or qualified name."""

    def find_definitions_at(self, path: str, line: int, column: int) -> list[DefinitionSite]:
        """What the identifier at a position stands for; empty when the layer cannot say."""

    def find_references(self, targets: Sequence[DefinitionSite], within: PathFilter) -> References:
        """In files that `within` accepts: others are another layer's to judge."""

    def calls_from(self, definition: DefinitionSite) -> Calls: ...

    def calls_to(self, definition: DefinitionSite) -> Calls: ...


class Layers:
    """Layers in order of exactness, joined by file."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers

    @property
    def precision(self) -> str:
        return self._layers[0].precision

    def find_definitions(self, name: str) -> list[DefinitionSite]:
        return _deduplicate(
            item
            for number, layer in enumerate(self._layers)
            for item in layer.find_definitions(name)
            if self._answers_for(number, item.path)
        )

    def find_definitions_at(self, path: str, line: int, column: int) -> list[DefinitionSite]:
        for layer in self._layers:
            if layer.covers(path):
                return layer.find_definitions_at(path, line, column)
        return []

    def find_references(self, targets: Sequence[DefinitionSite]) -> References:
        joined = References()
        for number, layer in enumerate(self._layers):
            answer = layer.find_references(targets, partial(self._answers_for, number))
            joined.proven += [item for item in answer.proven if self._answers_for(number, item.path)]
            joined.candidates += [item for item in answer.candidates if self._answers_for(number, item.path)]
        joined.proven.sort(key=lambda item: item[:3])
        joined.candidates.sort(key=lambda item: item[:3])
        return joined

    def calls_from(self, definition: DefinitionSite) -> Calls:
        for layer in self._layers:
            if layer.covers(definition.path):
                return layer.calls_from(definition)
        return Calls()

    def calls_to(self, definition: DefinitionSite) -> Calls:
        joined = Calls()
        for number, layer in enumerate(self._layers):
            answer = layer.calls_to(definition)
            joined.edges += [item for item in answer.edges if self._answers_for(number, item.path)]
            joined.candidates += [item for item in answer.candidates if self._answers_for(number, item.path)]
        joined.edges.sort(key=lambda item: item[2:5])
        joined.candidates.sort(key=lambda item: item[3:6])
        return joined

    def _answers_for(self, number: int, path: str) -> bool:
        """Is layer number `number` the first one that covers the path?"""
        return next((n for n, layer in enumerate(self._layers) if layer.covers(path)), number) == number


def _deduplicate(definitions: Iterable[DefinitionSite]) -> list[DefinitionSite]:
    by_place: dict[tuple[str, int, int], DefinitionSite] = {}
    for item in definitions:
        by_place.setdefault(item.place, item)
    return sorted(by_place.values(), key=lambda item: item.place)
