"""The ranges of all occurrences of one document at once: packed varints to arrays, typed ranges where given.

Works on the `raw` schema, where a packed range is the bytes on the wire. Zero-based and half-open, as SCIP
has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from gitindex.scip import schema

Ints = npt.NDArray[np.int64]
_BAD = (-1, -1, -1, -1)
_LONGEST_VARINT = 10


class Ranges(NamedTuple):
    """Parallel arrays; a range that could not be read has line -1."""

    line: Ints
    column: Ints
    end_line: Ints
    end_column: Ints


def decode_all(packed: Sequence[bytes], single: Sequence[bytes], multi: Sequence[bytes]) -> Ranges:
    """Typed ranges win over packed ones (the packed fields are deprecated)."""
    out = _packed(packed)
    if any(single) or any(multi):
        for at, (one, many) in enumerate(zip(single, multi, strict=True)):
            if one or many:
                for column, value in zip(out, _typed(one, many), strict=True):
                    column[at] = value
    return out


def decode_spans(buffer: npt.NDArray[np.uint8], starts: Ints, sizes: Ints) -> Ranges:
    """Packed ranges that lie in a buffer, by where each starts and how many bytes it has."""
    bounds = np.cumsum(sizes)
    total = int(bounds[-1]) if len(bounds) else 0
    return _decode(buffer[np.arange(total) + np.repeat(starts - bounds + sizes, sizes)], bounds)


def _packed(packed: Sequence[bytes]) -> Ranges:
    joined = np.frombuffer(b"".join(packed), dtype=np.uint8)
    return _decode(joined, np.cumsum(np.fromiter(map(len, packed), dtype=np.int64, count=len(packed))))


def _decode(joined: npt.NDArray[np.uint8], bounds: Ints) -> Ranges:
    """Ranges that lie end to end; `bounds` is where each ends."""
    count = len(bounds)
    last = np.flatnonzero(joined < 128)  # the byte that ends each varint
    # Values end at or before the bound of their range: how many lie there is where the range's values stop.
    stops = np.searchsorted(last, bounds - 1, side="right")
    starts = np.concatenate(([0], stops[:-1])) if count else stops
    sizes = stops - starts
    values = np.concatenate((_values(joined, last), np.zeros(4, np.int64), np.full(4, -1)))
    known = len(values) - 8
    # No range at all is the start of the file (a typed range of zeros has no bytes); two or five numbers are
    # bad.
    at = np.where((sizes == 3) | (sizes == 4), starts, np.where(sizes == 0, known, known + 4))
    three = sizes == 3
    line, column = values[at], values[at + 1]
    third, fourth = values[at + 2], values[np.minimum(at + 3, len(values) - 1)]
    return Ranges(line, column, np.where(three, line, third), np.where(three, third, fourth))


def _values(joined: npt.NDArray[np.uint8], last: Ints) -> Ints:
    values = joined[last].astype(np.int64)
    width = np.diff(last, prepend=-1)
    # Ten-byte varints are negative numbers: no such line exists, so wrapping is enough.
    for step in range(1, _LONGEST_VARINT):
        at = np.flatnonzero(width > step)
        if not len(at):
            break
        values[at] = values[at] << 7 | joined[last[at] - step] & 127
    return values


def _typed(single: bytes, multi: bytes) -> tuple[int, int, int, int]:
    messages: Any = schema.plain()
    try:
        if multi:
            many = messages.MultiLine.FromString(multi)
            return many.start_line, many.start, many.end_line, many.end
        one = messages.SingleLine.FromString(single)
    except DecodeError:
        return _BAD
    return one.line, one.start, one.line, one.end
