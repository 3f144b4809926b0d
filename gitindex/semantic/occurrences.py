"""Reads occurrences from the bytes of their messages, most of them without protobuf.

Indexers write the fields range, symbol, roles and enclosing range in this order and nothing else. Array operations take
all messages of that shape apart at once; only the lookup of the symbol is done per occurrence. Messages of any other
shape are parsed one by one: slower, with the same result.
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
_PAD = bytes(8)  # after the last message, because `_locate_parts` reads a few bytes beyond a message

Bools = npt.NDArray[np.bool_]


class OccurrenceColumns(NamedTuple):
    """Parallel arrays: the first three have an element per occurrence, the others one per definition."""

    ids: npt.NDArray[np.int32]
    roles: Ints
    ranges: Ranges
    defined: Ints  # positions of definitions
    enclosing: Ranges  # without meaning where `has_enclosing` is False
    has_enclosing: Bools


class _PartSpans(NamedTuple):
    """Where the parts of each message lie in the buffer; without meaning where `regular` is False."""

    regular: Bools
    range_start: Ints
    range_size: Ints
    symbol_start: Ints
    symbol_end: Ints
    roles: Ints
    enclosing_start: Ints
    enclosing_size: Ints


class OccurrenceReader:
    def __init__(self, interner: Interner) -> None:
        self._interner = interner

    def read(self, messages: list[bytes]) -> OccurrenceColumns:
        count = len(messages)
        joined = b"".join([*messages, _PAD])
        ends = np.cumsum(np.fromiter(map(len, messages), dtype=np.int64, count=count))
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1])) if count else ends
        buffer = np.frombuffer(joined, dtype=np.uint8)
        spans = _locate_parts(buffer, starts, ends)
        symbol_bounds = zip(spans.symbol_start.tolist(), spans.symbol_end.tolist(), strict=True)
        number_of = self._interner.ids.__getitem__
        ids = np.fromiter(
            map(number_of, [joined[start:end] for start, end in symbol_bounds]),
            dtype=np.int32,
            count=count,
        )
        ranges = decode_spans(buffer, spans.range_start, spans.range_size)
        irregular = {
            position: _IrregularOccurrence(messages[position], self._interner)
            for position in np.flatnonzero(~spans.regular).tolist()
        }
        roles = spans.roles
        for position, occurrence in irregular.items():
            ids[position], roles[position] = occurrence.id, occurrence.roles
            occurrence.fill_range(ranges, position, "range")
        # Only definitions: on references rust-analyzer means something else by an enclosing range.
        defined = np.flatnonzero((roles & schema.DEFINITION) != 0)
        sizes = spans.enclosing_size[defined]
        enclosing = decode_spans(buffer, spans.enclosing_start[defined], sizes)
        has_enclosing = sizes > 0
        for row, position in enumerate(defined.tolist()) if irregular else ():
            if position in irregular:
                has_enclosing[row] = irregular[position].fill_range(enclosing, row, "enclosing_range")
        return OccurrenceColumns(ids, roles, ranges, defined, enclosing, has_enclosing)


def _locate_parts(buffer: npt.NDArray[np.uint8], starts: Ints, ends: Ints) -> _PartSpans:
    """Read the fields of all messages in step. `cursor` is the next field of each message.

    A message that turns out irregular goes back to its start, so that every index stays inside the buffer.
    """
    range_size = buffer[starts + 1].astype(np.int64)
    cursor = starts + 2 + range_size
    is_regular = (buffer[starts] == _RANGE) & (range_size < 128) & (cursor < ends)
    cursor = np.where(is_regular, cursor, starts)
    # The length of a symbol is a varint of one or two bytes; longer symbols are irregular.
    low, high = buffer[cursor + 1].astype(np.int64), buffer[cursor + 2].astype(np.int64)
    two_bytes = low > 127
    symbol_start = cursor + 2 + two_bytes
    symbol_end = symbol_start + np.where(two_bytes, low & 127 | high << 7, low)
    is_regular &= (buffer[cursor] == _SYMBOL) & ((high < 128) | ~two_bytes) & (symbol_end <= ends)
    cursor = np.where(is_regular, symbol_end, starts)
    is_present = is_regular & (cursor < ends) & (buffer[cursor] == _ROLES)
    roles = np.where(is_present, buffer[cursor + 1], 0).astype(np.int64)
    cursor += 2 * is_present
    is_present = is_regular & (cursor < ends) & (buffer[cursor] == _ENCLOSING)
    enclosing_size = np.where(is_present, buffer[cursor + 1], 0).astype(np.int64)
    cursor += 2 * is_present
    is_regular &= (roles < 128) & (enclosing_size < 128) & (cursor + enclosing_size == ends)
    # Zero sizes, empty symbols and no roles for irregular messages: `OccurrenceReader` fills them in.
    for column in (range_size, symbol_start, symbol_end, roles, enclosing_size):
        column *= is_regular
    return _PartSpans(
        regular=is_regular,
        range_start=starts + 2,
        range_size=range_size,
        symbol_start=symbol_start,
        symbol_end=symbol_end,
        roles=roles,
        enclosing_start=cursor,
        enclosing_size=enclosing_size,
    )


class _IrregularOccurrence:
    """One occurrence parsed by protobuf. One that does not parse has no symbol, and is therefore dropped."""

    def __init__(self, raw: bytes, interner: Interner) -> None:
        self.id, self.roles = Interner.EMPTY, 0
        self._parts: dict[str, list[bytes]] = {}
        try:
            message = schema.raw_messages().Occurrence.FromString(raw)
        except DecodeError:
            return
        self.id = interner.ids[message.symbol]
        self.roles = message.symbol_roles & 127
        for name in ("range", "enclosing_range"):
            typed = [getattr(message, f"{lines}_line_{name}") for lines in ("single", "multi")]
            self._parts[name] = [getattr(message, name) or _repack_range(raw, name), *typed]

    def fill_range(self, ranges: Ranges, row: int, name: str) -> bool:
        """Write one of the two ranges into a row of `ranges`; False when the message has no such range."""
        parts = self._parts.get(name, [b"", b"", b""])
        for target, value in zip(ranges, decode_all(*([part] for part in parts)), strict=True):
            target[row] = value[0]
        return any(parts)


def _repack_range(raw: bytes, name: str) -> bytes:
    """The packed form of a range written as separate integers, valid though no indexer does it; b"" without one."""
    try:
        values = getattr(schema.plain_messages().Occurrence.FromString(raw), name)
    except DecodeError:  # text that is not UTF-8, which `raw_messages` accepts
        return b""
    return bytes(schema.plain_messages().Occurrence(range=values).SerializeToString())[2:] if values else b""
