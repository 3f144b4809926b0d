"""Symbols of one SCIP file as small integers, and what only the whole file can tell about them.

Globals get numbers from 0, locals negative ones (their text means something within one document only). After
the first pass `resolve` replaces versions of the project's own packages, hashes every symbol and knows what
is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from gitindex.scip import symbols
from gitindex.scip.symbols import Tail, tail


class _Ids(dict[bytes, int]):
    """Numbers a symbol the first time it is seen, so that a whole document is one `map` over
    `__getitem__`.
    """

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
        self.tails: list[Tail | None] = []
        self.names: list[bytes] = []  # last descriptor's name, compared with the text of every occurrence
        self._locals: list[bytes] = []

    def add(self, symbol: bytes) -> int:
        if symbols.is_local(symbol):
            self._locals.append(symbol)
            return self.EMPTY - len(self._locals)
        last = tail(symbol)
        self.strings.append(symbol)
        self.tails.append(last)
        self.names.append(last.name if last else b"")
        return len(self.strings) - 1

    def name_of(self, number: int) -> bytes:
        return self.strings[number] if number >= 0 else self._locals[self.EMPTY - number - 1]

    def resolve(
        self, defined: set[int], described: Iterable[bytes], known: Callable[[int], bool] | None
    ) -> SymbolTable:
        """`defined`: numbers with a definition here; `described`: symbols of other packages the file
        documents.
        """
        return SymbolTable(self, defined, frozenset(described), known)


class SymbolTable:
    def __init__(
        self,
        interner: Interner,
        defined: set[int],
        described: frozenset[bytes],
        known: Callable[[int], bool] | None,
    ) -> None:
        self._interner = interner
        self._described = described
        self._defined = defined
        self._known = known or (lambda _: False)
        self._own = {_package(interner.strings[i]) for i in defined}
        self._heads: dict[bytes, bytes] = {}
        names = [self.normal(symbol) for symbol in interner.strings]
        hashes = [symbols.hash64(name) for name in names]
        self.hashes: npt.NDArray[np.int64] = np.array(hashes, dtype=np.int64)
        self.strings: dict[int, bytes] = dict(zip(hashes, names, strict=True))
        self.defined_hashes = {hashes[i] for i in defined}
        self.unresolved: npt.NDArray[np.bool_] = np.fromiter(
            map(self._is_unresolved, range(len(names))), dtype=np.bool_, count=len(names)
        )

    def normal(self, symbol: bytes) -> bytes:
        """The symbol with the version of an own package replaced."""
        end = len(symbol) - len(symbol.split(b" ", 4)[-1])
        head = symbol[:end]
        if b"  " in symbol:
            return symbols.without_version(symbol) if _package(symbol) in self._own else symbol
        if head not in self._heads:
            own = _package(symbol) in self._own
            self._heads[head] = symbols.without_version(symbol)[: -len(symbol) + end or None] if own else head
        return self._heads[head] + symbol[end:]

    def hash_of(self, symbol: bytes) -> int:
        number = self._interner.ids.get(symbol)
        return symbols.hash64(self.normal(symbol)) if number is None else int(self.hashes[number])

    def sibling(self, number: int, text: bytes) -> int | None:
        """The defined or described symbol next to `number` whose name is the text found in the file."""
        symbol, last = self._interner.strings[number], self._interner.tails[number]
        if last is None or last.suffix in ("parameter", "type_parameter"):
            return None
        base = symbol[: last.start] + symbols.quote(text)
        for suffix in (symbol[last.end :], b"#", b"().", b"."):
            found = self._interner.ids.get(base + suffix)
            if found is not None and self._stands(found):
                return found
            if found is None and base + suffix in self._described:
                return None  # it exists, but no occurrence interned it: its hash is not in the table
        return None

    def _stands(self, number: int) -> bool:
        if number in self._defined or self._interner.strings[number] in self._described:
            return True
        return self._known(int(self.hashes[number]))

    def _is_unresolved(self, number: int) -> bool:
        """An own symbol that nothing defines; other packages are resolved elsewhere."""
        if number in self._defined or _package(self._interner.strings[number]) not in self._own:
            return False
        return not self._known(int(self.hashes[number]))


def _package(symbol: bytes) -> bytes:
    """Scheme, manager and package name: the symbol up to its version."""
    if b"  " not in symbol:
        return symbol.rsplit(b" ", symbol.count(b" ") - 2)[0] if symbol.count(b" ") > 2 else symbol
    parts = symbols.split_version(symbol)
    return symbol if parts is None else parts[0].rstrip()
