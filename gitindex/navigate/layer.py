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

from gitindex.navigate.fact_queries import Definition

Within = Callable[[str], bool]


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

    caller: Definition | None
    callee: Definition
    path: str
    line: int
    column: int
    precision: str
    how: str


class Guess(NamedTuple):
    """A call that no rule decides: definitions that have the name, nothing more."""

    caller: Definition | None
    name: str
    receiver: str
    path: str
    line: int
    column: int
    candidates: tuple[Definition, ...]


@dataclass(slots=True)
class References:
    """Occurrences tied to the asked definitions, and those that merely share the name."""

    found: list[Reference] = field(default_factory=list)
    candidates: list[Reference] = field(default_factory=list)


@dataclass(slots=True)
class Calls:
    edges: list[Edge] = field(default_factory=list)
    guesses: list[Guess] = field(default_factory=list)
    external: dict[str, int] = field(default_factory=dict)  # names nobody defines here


class Layer(Protocol):
    @property
    def precision(self) -> str: ...

    def covers(self, path: str) -> bool:
        """Does this layer answer for the file as it is in the snapshot?"""

    def definitions(self, name: str) -> list[Definition]:
        """By name or qualified name."""

    def meaning(self, path: str, line: int, column: int) -> list[Definition]:
        """What the identifier at a position stands for; empty when the layer cannot say."""

    def references(self, targets: Sequence[Definition], within: Within) -> References:
        """In files that `within` accepts: others are another layer's to judge."""

    def calls_from(self, definition: Definition) -> Calls: ...

    def calls_to(self, definition: Definition) -> Calls: ...


class Layers:
    """Layers in order of exactness, joined by file."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers

    @property
    def precision(self) -> str:
        return self._layers[0].precision

    def definitions(self, name: str) -> list[Definition]:
        return _once(
            item
            for at, layer in enumerate(self._layers)
            for item in layer.definitions(name)
            if self._speaks(at, item.path)
        )

    def meaning(self, path: str, line: int, column: int) -> list[Definition]:
        for layer in self._layers:
            if layer.covers(path):
                return layer.meaning(path, line, column)
        return []

    def references(self, targets: Sequence[Definition]) -> References:
        joined = References()
        for at, layer in enumerate(self._layers):
            answer = layer.references(targets, partial(self._speaks, at))
            joined.found += [item for item in answer.found if self._speaks(at, item.path)]
            joined.candidates += [item for item in answer.candidates if self._speaks(at, item.path)]
        joined.found.sort(key=lambda item: item[:3])
        joined.candidates.sort(key=lambda item: item[:3])
        return joined

    def calls_from(self, definition: Definition) -> Calls:
        for layer in self._layers:
            if layer.covers(definition.path):
                return layer.calls_from(definition)
        return Calls()

    def calls_to(self, definition: Definition) -> Calls:
        joined = Calls()
        for at, layer in enumerate(self._layers):
            answer = layer.calls_to(definition)
            joined.edges += [item for item in answer.edges if self._speaks(at, item.path)]
            joined.guesses += [item for item in answer.guesses if self._speaks(at, item.path)]
        joined.edges.sort(key=lambda item: item[2:5])
        joined.guesses.sort(key=lambda item: item[3:6])
        return joined

    def _speaks(self, at: int, path: str) -> bool:
        """Is layer number `at` the first one that covers the path?"""
        return next((n for n, layer in enumerate(self._layers) if layer.covers(path)), at) == at


def _once(found: Iterable[Definition]) -> list[Definition]:
    kept: dict[tuple[str, int, int], Definition] = {}
    for item in found:
        kept.setdefault(item.place, item)
    return sorted(kept.values(), key=lambda item: item.place)
