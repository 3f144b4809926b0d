"""Decodes the ranges of many occurrences at once, from packed varints or typed messages to arrays.

Works on `schema.raw_messages`, where a packed range is the bytes on the wire: three numbers (line, column, end column)
or four (line, column, end line, end column). Ranges are zero-based and half-open, as in SCIP.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from gitindex.scip import schema

Ints = npt.NDArray[np.int64]
_UNREADABLE = (-1, -1, -1, -1)
_LONGEST_VARINT = 10


class Ranges(NamedTuple):
    """Parallel arrays; a range that could not be read has line -1."""

    line: Ints
    column: Ints
    end_line: Ints
    end_column: Ints


def decode_all(packed: Sequence[bytes], single: Sequence[bytes], multi: Sequence[bytes]) -> Ranges:
    """Typed ranges win over packed ones (the packed fields are deprecated)."""
    ranges = _decode_packed(packed)
    if any(single) or any(multi):
        for index, (single_bytes, multi_bytes) in enumerate(zip(single, multi, strict=True)):
            if single_bytes or multi_bytes:
                for column, value in zip(ranges, _decode_typed(single_bytes, multi_bytes), strict=True):
                    column[index] = value
    return ranges


def decode_spans(buffer: npt.NDArray[np.uint8], starts: Ints, sizes: Ints) -> Ranges:
    """Packed ranges within a buffer, by the start and the number of bytes of each."""
    bounds = np.cumsum(sizes)
    total = int(bounds[-1]) if len(bounds) else 0
    # Gather the ranges end to end: each byte's index plus the shift of its range (`bounds - sizes` is its new start).
    return _decode_ranges(buffer[np.arange(total) + np.repeat(starts - bounds + sizes, sizes)], bounds)


def _decode_packed(packed: Sequence[bytes]) -> Ranges:
    joined = np.frombuffer(b"".join(packed), dtype=np.uint8)
    return _decode_ranges(joined, np.cumsum(np.fromiter(map(len, packed), dtype=np.int64, count=len(packed))))


def _decode_ranges(joined: npt.NDArray[np.uint8], bounds: Ints) -> Ranges:
    """Ranges from bytes end to end; `bounds` is where each range ends."""
    count = len(bounds)
    last = np.flatnonzero(joined < 128)  # the byte that ends each varint
    # The number of varints that end before a range's bound is where its values stop.
    stops = np.searchsorted(last, bounds - 1, side="right")
    starts = np.concatenate(([0], stops[:-1])) if count else stops
    sizes = stops - starts
    values = np.concatenate((_decode_varints(joined, last), np.zeros(4, np.int64), np.full(4, -1)))
    value_count = len(values) - 8
    # Appended above: four zeros for a range without bytes (a typed range of zeros has none: the start of the file), and
    # four -1 for a range of any other number of values, which is unreadable.
    first_value = np.where(
        (sizes == 3) | (sizes == 4), starts, np.where(sizes == 0, value_count, value_count + 4)
    )
    has_three = sizes == 3
    line, column = values[first_value], values[first_value + 1]
    third, fourth = values[first_value + 2], values[np.minimum(first_value + 3, len(values) - 1)]
    return Ranges(line, column, np.where(has_three, line, third), np.where(has_three, third, fourth))


def _decode_varints(joined: npt.NDArray[np.uint8], last: Ints) -> Ints:
    values = joined[last].astype(np.int64)
    width = np.diff(last, prepend=-1)
    # Ten-byte varints are negative numbers. No such line exists, so it does not matter that the shift overflows.
    for step in range(1, _LONGEST_VARINT):
        longer = np.flatnonzero(width > step)
        if not len(longer):
            break
        values[longer] = values[longer] << 7 | joined[last[longer] - step] & 127
    return values


def _decode_typed(single: bytes, multi: bytes) -> tuple[int, int, int, int]:
    messages: Any = schema.plain_messages()
    try:
        if multi:
            multi_line = messages.MultiLine.FromString(multi)
            return multi_line.start_line, multi_line.start, multi_line.end_line, multi_line.end
        single_line = messages.SingleLine.FromString(single)
    except DecodeError:
        return _UNREADABLE
    return single_line.line, single_line.start, single_line.line, single_line.end
