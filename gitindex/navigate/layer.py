"""Combines layers: each file is answered by the most exact layer that covers it.

A layer is a source of definitions, references and calls with one precision. The syntactic layer covers every
indexed file; a semantic layer covers the files whose imported facts are clean. A file is answered for by the first
layer that covers it and by no other, so a list of one precision never holds candidates of another (QU-3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

from gitindex.navigate.fact_queries import DefinitionSite

PathFilter = Callable[[str], bool]
Place = tuple[str, int, int]  # path, line, column


class Reference(NamedTuple):
    path: str
    line: int
    column: int
    role: str  # call | import | reference
    precision: str  # semantic | syntactic, or text: only the name agrees
    how: str  # the rule that tied it to the definition
    text: str = ""  # the source line

    @property
    def place(self) -> Place:
        return self.path, self.line, self.column


class Edge(NamedTuple):
    """A call. `caller` is None for code at file level."""

    caller: DefinitionSite | None
    callee: DefinitionSite
    path: str
    line: int
    column: int
    precision: str
    how: str

    @property
    def place(self) -> Place:
        return self.path, self.line, self.column


class CandidateCall(NamedTuple):
    """A call that no rule decides: definitions that have the name, nothing more."""

    caller: DefinitionSite | None
    name: str
    receiver: str
    path: str
    line: int
    column: int
    definitions: tuple[DefinitionSite, ...]

    @property
    def place(self) -> Place:
        return self.path, self.line, self.column


@dataclass(slots=True)
class References:
    """Occurrences tied to the asked definitions, and those that merely share the name."""

    proven: list[Reference] = field(default_factory=list)
    candidates: list[Reference] = field(default_factory=list)


@dataclass(slots=True)
class Calls:
    edges: list[Edge] = field(default_factory=list)
    candidates: list[CandidateCall] = field(default_factory=list)
    external: dict[str, int] = field(default_factory=dict)  # names without a definition here, and how often


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
        """Only in files that `within` accepts; other layers answer for the rest."""

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
        joined.proven.sort(key=lambda item: item.place)
        joined.candidates.sort(key=lambda item: item.place)
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
        joined.edges.sort(key=lambda item: item.place)
        joined.candidates.sort(key=lambda item: item.place)
        return joined

    def _answers_for(self, number: int, path: str) -> bool:
        """Is layer number `number` the first one that covers the path?"""
        return next((n for n, layer in enumerate(self._layers) if layer.covers(path)), number) == number


def _deduplicate(definitions: Iterable[DefinitionSite]) -> list[DefinitionSite]:
    by_place: dict[Place, DefinitionSite] = {}
    for item in definitions:
        by_place.setdefault(item.place, item)
    return sorted(by_place.values(), key=lambda item: item.place)
