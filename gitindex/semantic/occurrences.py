"""Occurrences from the bytes of their messages, most of them without parsing.

Indexers write range, symbol, roles and enclosing range in this order and nothing else. Messages of that shape
are taken apart by array operations over all of them, end to end; what is left per occurrence is looking up its
symbol. Messages in any other shape are parsed one by one: slower, same result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from gitindex.scip import schema
from gitindex.scip.ranges import Ints, Ranges, decode_all, decode_spans
from gitindex.semantic.interning import Interner

_RANGE, _SYMBOL, _ROLES, _ENCLOSING = 10, 18, 24, 58  # tags: field number << 3 | wire type
_PAD = bytes(8)  # so that looking a few bytes ahead stays inside the buffer

Bools = npt.NDArray[np.bool_]


class Columns(NamedTuple):
    """Parallel arrays. `enclosing` only where `around` says so, and only for definitions."""

    ids: npt.NDArray[np.int32]
    roles: Ints
    ranges: Ranges
    defined: Ints  # positions of definitions
    enclosing: Ranges  # of the definitions
    around: Bools


class _Spans(NamedTuple):
    """Where the parts of each message lie in the buffer; nothing but `regular` counts where that is False."""

    regular: Bools
    range_at: Ints
    range_size: Ints
    symbol_at: Ints
    symbol_end: Ints
    roles: Ints
    enclosing_at: Ints
    enclosing_size: Ints


class Occurrences:
    def __init__(self, interner: Interner) -> None:
        self._interner = interner

    def read(self, messages: list[bytes]) -> Columns:
        count = len(messages)
        joined = b"".join([*messages, _PAD])
        ends = np.cumsum(np.fromiter(map(len, messages), dtype=np.int64, count=count))
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1])) if count else ends
        buffer = np.frombuffer(joined, dtype=np.uint8)
        spans = _spans(buffer, starts, ends)
        cuts = zip(spans.symbol_at.tolist(), spans.symbol_end.tolist(), strict=True)
        number = self._interner.ids.__getitem__
        ids = np.fromiter(map(number, [joined[a:b] for a, b in cuts]), dtype=np.int32, count=count)
        ranges = decode_spans(buffer, spans.range_at, spans.range_size)
        odd = {at: _Odd(messages[at], self._interner) for at in np.flatnonzero(~spans.regular).tolist()}
        roles = spans.roles
        for at, found in odd.items():
            ids[at], roles[at] = found.id, found.roles
            found.set(ranges, at, "range")
        # On references rust-analyzer means something else by an enclosing range.
        defined = np.flatnonzero((roles & schema.DEFINITION) != 0)
        sizes = spans.enclosing_size[defined]
        enclosing = decode_spans(buffer, spans.enclosing_at[defined], sizes)
        around = sizes > 0
        for place, at in enumerate(defined.tolist()) if odd else ():
            if at in odd:
                around[place] = odd[at].set(enclosing, place, "enclosing_range")
        return Columns(ids, roles, ranges, defined, enclosing, around)


def _spans(buffer: npt.NDArray[np.uint8], starts: Ints, ends: Ints) -> _Spans:
    range_size = buffer[starts + 1].astype(np.int64)
    at = starts + 2 + range_size
    ok = (buffer[starts] == _RANGE) & (range_size < 128) & (at < ends)
    at = np.where(ok, at, starts)
    low, high = buffer[at + 1].astype(np.int64), buffer[at + 2].astype(np.int64)
    two = low > 127
    symbol_at = at + 2 + two
    symbol_end = symbol_at + np.where(two, low & 127 | high << 7, low)
    ok &= (buffer[at] == _SYMBOL) & ((high < 128) | ~two) & (symbol_end <= ends)
    at = np.where(ok, symbol_end, starts)
    given = ok & (at < ends) & (buffer[at] == _ROLES)
    roles = np.where(given, buffer[at + 1], 0).astype(np.int64)
    at += 2 * given
    given = ok & (at < ends) & (buffer[at] == _ENCLOSING)
    size = np.where(given, buffer[at + 1], 0).astype(np.int64)
    at += 2 * given
    ok &= (roles < 128) & (size < 128) & (at + size == ends)
    for column in (range_size, symbol_at, symbol_end, roles, size):
        column *= ok
    return _Spans(ok, starts + 2, range_size, symbol_at, symbol_end, roles, at, size)


class _Odd:
    """One occurrence parsed by protobuf; without a symbol, and therefore dropped, when it does not parse."""

    def __init__(self, raw: bytes, interner: Interner) -> None:
        self.id, self.roles = Interner.EMPTY, 0
        self._parts: dict[str, list[bytes]] = {}
        try:
            message = schema.raw().Occurrence.FromString(raw)
        except DecodeError:
            return
        self.id = interner.ids[message.symbol]
        self.roles = message.symbol_roles & 127
        for name in ("range", "enclosing_range"):
            typed = [getattr(message, f"{lines}_line_{name}") for lines in ("single", "multi")]
            self._parts[name] = [getattr(message, name) or _repacked(raw, name), *typed]

    def set(self, ranges: Ranges, at: int, name: str) -> bool:
        """Fill in one of the two ranges; False when there is none."""
        parts = self._parts.get(name, [b"", b"", b""])
        for target, value in zip(ranges, decode_all(*([part] for part in parts)), strict=True):
            target[at] = value[0]
        return any(parts)


def _repacked(raw: bytes, name: str) -> bytes:
    """A range written as separate integers, which is valid though no indexer does it; b"" without one."""
    try:
        values = getattr(schema.plain().Occurrence.FromString(raw), name)
    except DecodeError:  # text that is not UTF-8: what `raw` tolerates
        return b""
    return bytes(schema.plain().Occurrence(range=values).SerializeToString())[2:] if values else b""
