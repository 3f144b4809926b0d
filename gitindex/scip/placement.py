"""All ranges of one document from a tool's units to byte offsets and to our lines and columns, in bulk.

Most lines are ASCII, where a column is a byte and a code point at once: those are done as arrays, and only
positions on other lines (or all positions of a file with a byte order mark or odd line ends) go through
`positions.Text`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip.positions import Rules, Text, simple
from gitindex.scip.ranges import Ints, Ranges


class Placed(NamedTuple):
    """Parallel arrays: byte offsets, then 1-based lines and code point columns; `good` is False outside the
    text.
    """

    start: Ints
    end: Ints
    line: Ints
    column: Ints
    end_line: Ints
    end_column: Ints
    good: npt.NDArray[np.bool_]


class Source:
    """One file's bytes, ready to place many ranges."""

    def __init__(self, data: bytes, rules: Rules) -> None:
        self.data = data
        self._rules = rules
        self._simple = simple(data, rules)
        buffer = np.frombuffer(data, dtype=np.uint8)
        self._starts = np.concatenate(([0], np.flatnonzero(buffer == 10) + 1))
        self._widths = np.diff(self._starts, append=len(data) + 1) - 1
        self._odd: npt.NDArray[np.bool_] | None = None
        if not data.isascii():
            self._odd = np.zeros(len(self._starts), dtype=np.bool_)
            self._odd[np.searchsorted(self._starts, np.flatnonzero(buffer > 127), side="right") - 1] = True
        self._text: Text | None = None

    def place(self, ranges: Ranges) -> Placed:
        if not self._simple:
            every = np.arange(len(ranges.line))
            return self._one_by_one(ranges, _nowhere(len(every)), every)
        last = len(self._starts) - 1
        line, end_line = np.clip(ranges.line, 0, last), np.clip(ranges.end_line, 0, last)
        good = (line == ranges.line) & (end_line == ranges.end_line)
        good &= (ranges.column >= 0) & (ranges.column <= self._widths[line])
        good &= (ranges.end_column >= 0) & (ranges.end_column <= self._widths[end_line])
        start = self._starts[line] + ranges.column
        end = self._starts[end_line] + ranges.end_column
        good &= end >= start
        placed = Placed(start, end, line + 1, ranges.column + 1, end_line + 1, ranges.end_column + 1, good)
        if self._odd is None:
            return placed
        return self._one_by_one(ranges, placed, np.flatnonzero(self._odd[line] | self._odd[end_line]))

    def _one_by_one(self, ranges: Ranges, placed: Placed, which: Ints) -> Placed:
        if self._text is None and len(which):
            self._text = Text(self.data, self._rules)
        for at in which.tolist():
            assert self._text is not None
            start = self._text.offset(int(ranges.line[at]), int(ranges.column[at]))
            end = self._text.offset(int(ranges.end_line[at]), int(ranges.end_column[at]))
            placed.good[at] = start is not None and end is not None and start <= end
            if start is not None and end is not None:
                placed.start[at], placed.end[at] = start, end
                placed.line[at], placed.column[at] = self._text.place(start)
                placed.end_line[at], placed.end_column[at] = self._text.place(end)
        return placed


def _nowhere(count: int) -> Placed:
    zeros = [np.zeros(count, dtype=np.int64) for _ in range(6)]
    start, end, line, column, end_line, end_column = zeros
    return Placed(start, end, line, column, end_line, end_column, np.zeros(count, dtype=np.bool_))
