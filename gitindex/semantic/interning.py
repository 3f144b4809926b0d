"""Numbers for the symbols of one SCIP file, and facts about them that need the whole file.

Global symbols get numbers from 0, locals negative ones (a local's text has a meaning within one document only). After
the first pass `SymbolResolver` has the definitions of the whole file, those of the helper's half included, and the
project's own packages. `SymbolTable` replaces the versions of those packages and hashes every symbol.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip import symbol_grammar
from gitindex.scip.symbol_grammar import LastDescriptor, parse_last_descriptor
from gitindex.semantic.package_names import Naming

# No doubled space, which would be part of a field.
_PLAIN_HEAD = re.compile(rb"(?:[^ ]+ ){4}(?=.)", re.DOTALL)


class _SymbolIds(dict[bytes, int]):
    """Numbers a symbol at its first lookup, so that a batch of symbols is one `map` over `__getitem__`."""

    def __init__(self, owner: Interner) -> None:
        super().__init__({b"": Interner.EMPTY})
        self._owner = owner

    def __missing__(self, symbol: bytes) -> int:
        number = self._owner.add(symbol)
        self[symbol] = number
        return number


class Interner:
    EMPTY = -1  # an occurrence without a symbol: syntax highlighting, which is not indexed

    def __init__(self) -> None:
        self.ids = _SymbolIds(self)
        self.strings: list[bytes] = []
        self.names: list[bytes] = []  # of the last descriptors; compared with the text of every occurrence
        self._heads: list[bytes] = []
        self.local_count = 0

    def add(self, symbol: bytes) -> int:
        if symbol.startswith(b"local "):
            self.local_count += 1
            return self.EMPTY - self.local_count
        self.strings.append(symbol)
        self.names.append(symbol_grammar.parse_last_name(symbol))
        return len(self.strings) - 1

    def last_descriptor_of(self, number: int) -> LastDescriptor | None:
        return parse_last_descriptor(self.strings[number])

    def heads(self) -> list[bytes]:
        """The part of each global symbol before its descriptors."""
        self._heads += [_extract_head(symbol) for symbol in self.strings[len(self._heads) :]]
        return self._heads


class DefinedSymbols(NamedTuple):
    """The definitions of a file, or of one half of its documents."""

    defined: frozenset[bytes]  # global symbols
    packages: frozenset[bytes]  # of these symbols, without version: the project's own packages

    def __or__(self, other: DefinedSymbols) -> DefinedSymbols:
        return DefinedSymbols(self.defined | other.defined, self.packages | other.packages)


def collect_defined(interner: Interner, numbers: Iterable[int]) -> DefinedSymbols:
    """`numbers` are those of the defined symbols."""
    numbers, heads = list(numbers), interner.heads()
    defined = frozenset([interner.strings[number] for number in numbers])
    return DefinedSymbols(
        defined, frozenset(_extract_package(head) for head in {heads[number] for number in numbers})
    )


class SymbolResolver:
    """Facts about symbols that need the whole file and the store.

    `external_symbols`: symbols of other packages that the file describes; `store_defines`: whether the store defines a
    symbol (by hash) that this file only refers to; `naming`: the names of the repository's packages.
    """

    def __init__(
        self,
        interner: Interner,
        defined: DefinedSymbols,
        external_symbols: frozenset[bytes],
        store_defines: Callable[[int], bool] | None,
        naming: Naming,
    ) -> None:
        self._naming = naming
        self._interner = interner
        self._defined = defined
        self._external_symbols = external_symbols
        self._normalized_heads: dict[bytes, bytes] = {}
        self.store_defines = store_defines or (lambda _: False)

    @property
    def defined(self) -> frozenset[bytes]:
        return self._defined.defined

    def owns(self, head: bytes) -> bool:
        return _extract_package(head) in self._defined.packages

    def normalize_head(self, head: bytes) -> bytes:
        """A head with the version of an own package replaced."""
        normalized = self._normalized_heads.get(head)
        if normalized is None:
            normalized = self._normalized_heads[head] = self._compute_head(head)
        return normalized

    def _compute_head(self, head: bytes) -> bytes:
        package = _extract_package(head)
        if package not in self._defined.packages and not self._naming.owns(package):
            return head
        normalized = symbol_grammar.replace_version(
            self._naming.rename_nameless(package) + head[len(package) :]
        )
        return head if normalized == head else normalized

    def normalize(self, symbol: bytes) -> bytes:
        """The symbol with the version of an own package replaced."""
        head = _extract_head(symbol)
        normalized = self.normalize_head(head)
        return symbol if normalized is head else normalized + symbol[len(head) :]

    def find_sibling(self, number: int, text: bytes) -> int | None:
        """The symbol beside `number` whose name is the text in the file, if anything defines or describes it."""
        symbol, last_descriptor = self._interner.strings[number], self._interner.last_descriptor_of(number)
        if last_descriptor is None or last_descriptor.suffix in ("parameter", "type_parameter"):
            return None
        base = symbol[: last_descriptor.start] + symbol_grammar.quote(text)
        spellings = (base + end for end in (symbol[last_descriptor.end :], b"#", b"().", b"."))
        sibling_symbol = next((spelling for spelling in spellings if self._exists(spelling)), None)
        return None if sibling_symbol is None else self._interner.ids[sibling_symbol]

    def _exists(self, symbol: bytes) -> bool:
        if symbol in self._defined.defined or symbol in self._external_symbols:
            return True
        return self.store_defines(symbol_grammar.hash64(self.normalize(symbol)))


class SymbolTable:
    """Normalized name and hash of every interned global symbol, by number. Built after the last symbol is interned."""

    def __init__(self, interner: Interner, resolver: SymbolResolver) -> None:
        self._interner, self._resolver = interner, resolver
        strings, heads = interner.strings, interner.heads()
        normalized_heads = {head: resolver.normalize_head(head) for head in set(heads)}
        self.names = strings
        if any(normalized_heads[head] != head for head in normalized_heads):
            self.names = [
                normalized_heads[head] + symbol[len(head) :]
                for symbol, head in zip(strings, heads, strict=True)
            ]
        self.hashes: npt.NDArray[np.int64] = np.frombuffer(symbol_grammar.hash_all(self.names), "<i8")
        # Documents number their global symbols in ascending order of hash.
        self.sorted_hashes = np.unique(self.hashes)
        self.rank = np.searchsorted(self.sorted_hashes, self.hashes)
        own_heads = {head for head in normalized_heads if resolver.owns(head)}
        defined = resolver.defined
        self.unresolved: npt.NDArray[np.bool_] = np.array(
            [
                head in own_heads and symbol not in defined
                for symbol, head in zip(strings, heads, strict=True)
            ],
            dtype=np.bool_,
        )
        for number in np.flatnonzero(self.unresolved).tolist():
            self.unresolved[number] = not resolver.store_defines(int(self.hashes[number]))

    def hash_of(self, symbol: bytes) -> int:
        number = self._interner.ids.get(symbol)
        return (
            symbol_grammar.hash64(self._resolver.normalize(symbol))
            if number is None
            else int(self.hashes[number])
        )


def _extract_head(symbol: bytes) -> bytes:
    """Scheme, manager, package and version, with the space that ends them."""
    if plain_head := _PLAIN_HEAD.match(symbol):
        return plain_head[0]
    parts = symbol_grammar.split_version(symbol)
    return symbol if parts is None else parts.package + parts.version + b" "


def _extract_package(head: bytes) -> bytes:
    """Scheme, manager and package, with the space before the version."""
    parts = symbol_grammar.split_version(head)
    return head if parts is None else parts.package
