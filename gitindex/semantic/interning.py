"""Symbols of one SCIP file as small integers, and what only the whole file can tell about them.

Globals get numbers from 0, locals negative ones (their text means something within one document only). After
the first pass `World` knows what is defined, here and by whoever read the rest of the file, and what the
project's own packages are; a `SymbolTable` replaces their versions and hashes every symbol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip import symbol_grammar
from gitindex.scip.symbol_grammar import Tail, tail
from gitindex.semantic.package_names import Naming

# No doubled space, which would be part of a field.
_PLAIN_HEAD = re.compile(rb"(?:[^ ]+ ){4}(?=.)", re.DOTALL)


class _Ids(dict[bytes, int]):
    """Numbers a symbol when it is first seen, so that a batch is one `map` over `__getitem__`."""

    def __init__(self, owner: Interner) -> None:
        super().__init__({b"": Interner.EMPTY})
        self._owner = owner

    def __missing__(self, symbol: bytes) -> int:
        number = self._owner.add(symbol)
        self[symbol] = number
        return number


class Interner:
    EMPTY = -1  # an occurrence without a symbol: syntax highlighting, nothing to index

    def __init__(self) -> None:
        self.ids = _Ids(self)
        self.strings: list[bytes] = []
        self.names: list[bytes] = []  # last descriptor's name, compared with the text of every occurrence
        self._heads: list[bytes] = []
        self.local_count = 0

    def add(self, symbol: bytes) -> int:
        if symbol.startswith(b"local "):
            self.local_count += 1
            return self.EMPTY - self.local_count
        self.strings.append(symbol)
        self.names.append(symbol_grammar.tail_name(symbol))
        return len(self.strings) - 1

    def tail_of(self, number: int) -> Tail | None:
        return tail(self.strings[number])

    def heads(self) -> list[bytes]:
        """Of each global symbol what stands before its descriptors."""
        self._heads += [_head(symbol) for symbol in self.strings[len(self._heads) :]]
        return self._heads


class Seen(NamedTuple):
    """What a file, or a share of its documents, defines."""

    defined: frozenset[bytes]  # global symbols
    packages: frozenset[bytes]  # the project's own: those of the definitions, without version

    def __or__(self, other: Seen) -> Seen:
        return Seen(self.defined | other.defined, self.packages | other.packages)


def seen_in(interner: Interner, numbers: Iterable[int]) -> Seen:
    """From the numbers of defined symbols."""
    numbers, heads = list(numbers), interner.heads()
    defined = frozenset([interner.strings[number] for number in numbers])
    return Seen(defined, frozenset(_package(head) for head in {heads[number] for number in numbers}))


class World:
    """What only the whole file and the store can tell about a symbol.

    `described`: symbols of other packages the file documents; `known`: whether the store defines a symbol
    (by hash) that this file only mentions; `naming`: what the packages of the repository are called.
    """

    def __init__(
        self,
        interner: Interner,
        seen: Seen,
        described: frozenset[bytes],
        known: Callable[[int], bool] | None,
        naming: Naming,
    ) -> None:
        self._naming = naming
        self._interner = interner
        self._seen = seen
        self._described = described
        self._heads: dict[bytes, bytes] = {}
        self.known = known or (lambda _: False)

    @property
    def defined(self) -> frozenset[bytes]:
        return self._seen.defined

    def owns(self, head: bytes) -> bool:
        return _package(head) in self._seen.packages

    def renamed(self, head: bytes) -> bytes:
        """Everything before the descriptors, with the version of an own package replaced."""
        new = self._heads.get(head)
        if new is None:
            new = self._heads[head] = self._rename(head)
        return new

    def _rename(self, head: bytes) -> bytes:
        package = _package(head)
        if package not in self._seen.packages and not self._naming.owns(package):
            return head
        changed = symbol_grammar.without_version(self._naming.renamed(package) + head[len(package) :])
        return head if changed == head else changed

    def normal(self, symbol: bytes) -> bytes:
        """The symbol with the version of an own package replaced."""
        head = _head(symbol)
        new = self.renamed(head)
        return symbol if new is head else new + symbol[len(head) :]

    def sibling(self, number: int, text: bytes) -> int | None:
        """The defined or described symbol next to `number` whose name is the text found in the file."""
        symbol, last = self._interner.strings[number], self._interner.tail_of(number)
        if last is None or last.suffix in ("parameter", "type_parameter"):
            return None
        base = symbol[: last.start] + symbol_grammar.quote(text)
        candidates = (base + end for end in (symbol[last.end :], b"#", b"().", b"."))
        found = next((candidate for candidate in candidates if self._stands(candidate)), None)
        return None if found is None else self._interner.ids[found]

    def _stands(self, symbol: bytes) -> bool:
        if symbol in self._seen.defined or symbol in self._described:
            return True
        return self.known(symbol_grammar.hash64(self.normal(symbol)))


class SymbolTable:
    """Every interned global symbol by number: its normal name and hash. Made when no more are coming."""

    def __init__(self, interner: Interner, world: World) -> None:
        self._interner, self._world = interner, world
        strings, heads = interner.strings, interner.heads()
        new = {head: world.renamed(head) for head in set(heads)}
        self.names = strings
        if any(new[head] != head for head in new):
            self.names = [
                new[head] + symbol[len(head) :] for symbol, head in zip(strings, heads, strict=True)
            ]
        self.hashes: npt.NDArray[np.int64] = np.frombuffer(symbol_grammar.hash_all(self.names), "<i8")
        # Ascending by hash: files number their symbols by it.
        self.sorted_hashes = np.unique(self.hashes)
        self.rank = np.searchsorted(self.sorted_hashes, self.hashes)
        own = {head for head in new if world.owns(head)}
        defined = world.defined
        self.unresolved: npt.NDArray[np.bool_] = np.array(
            [head in own and symbol not in defined for symbol, head in zip(strings, heads, strict=True)],
            dtype=np.bool_,
        )
        for number in np.flatnonzero(self.unresolved).tolist():
            self.unresolved[number] = not world.known(int(self.hashes[number]))

    def hash_of(self, symbol: bytes) -> int:
        number = self._interner.ids.get(symbol)
        return (
            symbol_grammar.hash64(self._world.normal(symbol)) if number is None else int(self.hashes[number])
        )


def _head(symbol: bytes) -> bytes:
    """Scheme, manager, package and version, with the space that ends them."""
    if plain := _PLAIN_HEAD.match(symbol):
        return plain[0]
    parts = symbol_grammar.split_version(symbol)
    return symbol if parts is None else parts[0] + parts[1] + b" "


def _package(head: bytes) -> bytes:
    parts = symbol_grammar.split_version(head)
    return head if parts is None else parts[0]
