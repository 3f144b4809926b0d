"""Hashes the syntactic interface of a file: the signatures other files can see, not bodies, comments, positions."""

from __future__ import annotations

from collections.abc import Iterable

from gitindex.model.ids import sha256_hex
from gitindex.model.rows import ExtractedSymbol

_VALUES = frozenset({"variable", "field", "constant"})


def interface_hash(visible: Iterable[ExtractedSymbol]) -> str:
    """Equal for two files that define the same names with the same signatures in any order."""
    lines = sorted(
        f"{symbol.kind}\0{symbol.qualified_name}\0{_visible_signature(symbol)}" for symbol in visible
    )
    return sha256_hex("\n".join(lines).encode("utf-8", "surrogatepass"))


def _visible_signature(symbol: ExtractedSymbol) -> str:
    """The signature without a value: of `limit: int = 10` the interface is `limit: int`."""
    if symbol.kind in _VALUES:
        return symbol.signature.partition("=")[0].rstrip()
    return symbol.signature
