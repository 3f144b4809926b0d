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


def decode_one(packed: bytes, single: bytes, multi: bytes) -> tuple[int, int, int, int] | None:
    """The range of one occurrence; None when there is none."""
    if not (packed or single or multi):
        return None
    line, column, end_line, end_column = (int(part[0]) for part in decode_all([packed], [single], [multi]))
    return None if line < 0 else (line, column, end_line, end_column)


def _packed(packed: Sequence[bytes]) -> Ranges:
    count = len(packed)
    joined = np.frombuffer(b"".join(packed), dtype=np.uint8)
    bounds = np.cumsum(np.fromiter(map(len, packed), dtype=np.int64, count=count))
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
    if len(last) == len(joined):
        return joined.astype(np.int64)
    if not len(last):
        return np.empty(0, dtype=np.int64)
    firsts = np.concatenate(([0], last[:-1] + 1))
    used = int(last[-1]) + 1
    shift = np.arange(used) - np.repeat(firsts, last - firsts + 1)
    # Ten-byte varints are negative numbers: no such line exists, so wrapping is enough.
    parts = (joined[:used].astype(np.int64) & 127) << np.minimum(shift * 7, 62)
    return np.asarray(np.add.reduceat(parts, firsts), dtype=np.int64)


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
