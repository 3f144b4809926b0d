"""Symbols of one SCIP file as small integers, and what only the whole file can tell about them.

Globals get numbers from 0, locals negative ones (their text means something within one document only). After
the first pass a `SymbolTable` replaces versions of the project's own packages, hashes every symbol and knows
what is
defined.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gitindex.scip import symbols
from gitindex.scip.symbols import Tail, tail
from gitindex.semantic.naming import Naming


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
        self._locals: list[bytes] = []

    def add(self, symbol: bytes) -> int:
        if symbols.is_local(symbol):
            self._locals.append(symbol)
            return self.EMPTY - len(self._locals)
        self.strings.append(symbol)
        self.names.append(symbols.tail_name(symbol))
        return len(self.strings) - 1

    def tail_of(self, number: int) -> Tail | None:
        return tail(self.strings[number])

    @property
    def local_count(self) -> int:
        return len(self._locals)


class SymbolTable:
    """`defined`: numbers with a definition in the file; `described`: symbols of other packages it documents;
    `known`: whether the store defines a symbol (by hash) that this file only mentions; `naming`: what the packages of
    the repository are called.
    """

    def __init__(
        self,
        interner: Interner,
        defined: set[int],
        described: frozenset[bytes],
        known: Callable[[int], bool] | None,
        naming: Naming,
    ) -> None:
        self._naming = naming
        self._interner = interner
        self._described = described
        self._defined = defined
        self._known = known or (lambda _: False)
        heads = [_head(symbol) for symbol in interner.strings]
        packages = {head: _package(head) for head in set(heads)}
        self._own = {packages[heads[i]] for i in defined}
        # Everything before the descriptors → the same with the version of an own package replaced.
        self._heads = {head: self._renamed(head, package) for head, package in packages.items()}
        renamed = [self._heads[head] for head in heads]
        self.names = [
            symbol if new is old else new + symbol[len(old) :]
            for symbol, old, new in zip(interner.strings, heads, renamed, strict=True)
        ]
        hashes = [symbols.hash64(name) for name in self.names]
        self.hashes: npt.NDArray[np.int64] = np.array(hashes, dtype=np.int64)
        self.strings: dict[int, bytes] = dict(zip(hashes, self.names, strict=True))
        # Ascending by hash: files number their symbols by it.
        self.sorted_hashes = np.unique(self.hashes)
        self.rank = np.searchsorted(self.sorted_hashes, self.hashes)
        self.defined_hashes = {hashes[i] for i in defined}
        is_own = {head: package in self._own for head, package in packages.items()}
        self.unresolved: npt.NDArray[np.bool_] = np.array(
            [
                is_own[head] and number not in defined and not self._known(value)
                for number, (head, value) in enumerate(zip(heads, hashes, strict=True))
            ],
            dtype=np.bool_,
        )

    def _renamed(self, head: bytes, package: bytes) -> bytes:
        if package not in self._own and not self._naming.owns(package):
            return head
        changed = symbols.without_version(self._naming.renamed(package) + head[len(package) :])
        return head if changed == head else changed

    def normal(self, symbol: bytes) -> bytes:
        """The symbol with the version of an own package replaced."""
        number = self._interner.ids.get(symbol, -1)
        if number >= 0:
            return self.names[number]
        head = _head(symbol)
        new = self._heads.get(head) or self._renamed(head, _package(head))
        return new + symbol[len(head) :]

    def hash_of(self, symbol: bytes) -> int:
        number = self._interner.ids.get(symbol)
        return symbols.hash64(self.normal(symbol)) if number is None else int(self.hashes[number])

    def sibling(self, number: int, text: bytes) -> int | None:
        """The defined or described symbol next to `number` whose name is the text found in the file."""
        symbol, last = self._interner.strings[number], self._interner.tail_of(number)
        if last is None or last.suffix in ("parameter", "type_parameter"):
            return None
        base = symbol[: last.start] + symbols.quote(text)
        candidates = (self._interner.ids.get(base + end) for end in (symbol[last.end :], b"#", b"().", b"."))
        return next((found for found in candidates if found is not None and self._stands(found)), None)

    def _stands(self, number: int) -> bool:
        if number in self._defined or self._interner.strings[number] in self._described:
            return True
        return self._known(int(self.hashes[number]))


def _head(symbol: bytes) -> bytes:
    """Scheme, manager, package and version, with the space that ends them."""
    fields = symbol.split(b" ", 4)
    if all(fields) and len(fields) == 5:  # no doubled space, which would be part of a field
        return symbol[: len(symbol) - len(fields[4])]
    parts = symbols.split_version(symbol)
    return symbol if parts is None else parts[0] + parts[1] + b" "


def _package(head: bytes) -> bytes:
    parts = symbols.split_version(head)
    return head if parts is None else parts[0]
