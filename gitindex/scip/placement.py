"""Ranges of many documents from a tool's units to byte offsets and to our lines and columns, in bulk.

The texts are laid end to end, one LF between them, so that one set of array operations serves a whole batch.
Most lines are ASCII, where a column is a byte and a code point at once; only positions on other lines, and
all positions of files with a byte order mark or odd line ends, go through `positions.Text` one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip.positions import Rules, Text, simple
from gitindex.scip.ranges import Ints, Ranges


class Placed(NamedTuple):
    """Parallel arrays: offsets into `Sources.data`, then 1-based lines and code point columns.

    `good` is False for a range outside its text.
    """

    start: Ints
    end: Ints
    line: Ints
    column: Ints
    end_line: Ints
    end_column: Ints
    good: npt.NDArray[np.bool_]


class Sources:
    def __init__(self, texts: Sequence[tuple[bytes, Rules]]) -> None:
        self._texts = texts
        self.data = b"\n".join([*(data for data, _ in texts), b""])
        sizes = np.array([0, *(len(data) + 1 for data, _ in texts)], dtype=np.int64)
        self._offsets = np.cumsum(sizes)[:-1]
        buffer = np.frombuffer(self.data, dtype=np.uint8)
        self._starts = np.concatenate((np.zeros(1, np.int64), np.flatnonzero(buffer == 10) + 1))
        self._widths = np.diff(self._starts) - 1
        self._first_line = np.searchsorted(self._starts, self._offsets)
        self._lines = np.diff(self._first_line, append=len(self._starts) - 1)
        self._odd = np.zeros(len(self._widths), dtype=np.bool_)
        if not self.data.isascii():
            self._odd[np.searchsorted(self._starts, np.flatnonzero(buffer > 127), side="right") - 1] = True
        for number, (data, rules) in enumerate(texts):
            if not simple(data, rules):
                first = int(self._first_line[number])
                self._odd[first : first + int(self._lines[number])] = True
        self._slow: dict[int, Text] = {}

    def place(self, ranges: Ranges, owner: Ints) -> Placed:
        """`owner` says for each range which text it is in."""
        base, lines = self._first_line[owner], self._lines[owner]
        line, end_line = np.clip(ranges.line, 0, lines - 1), np.clip(ranges.end_line, 0, lines - 1)
        at, end_at = base + line, base + end_line
        good = (line == ranges.line) & (end_line == ranges.end_line)
        good &= (ranges.column >= 0) & (ranges.column <= self._widths[at])
        good &= (ranges.end_column >= 0) & (ranges.end_column <= self._widths[end_at])
        start, end = self._starts[at] + ranges.column, self._starts[end_at] + ranges.end_column
        good &= end >= start
        placed = Placed(start, end, line + 1, ranges.column + 1, end_line + 1, ranges.end_column + 1, good)
        # A line number of a text with odd line ends may lie beyond ours: all of its ranges go the slow way.
        odd = self._odd[at] | self._odd[end_at]
        for which in np.flatnonzero(odd).tolist():
            self._place_one(ranges, placed, which, int(owner[which]))
        return placed

    def _place_one(self, ranges: Ranges, placed: Placed, which: int, owner: int) -> None:
        text = self._slow.get(owner)
        if text is None:
            text = self._slow[owner] = Text(*self._texts[owner])
        start = text.offset(int(ranges.line[which]), int(ranges.column[which]))
        end = text.offset(int(ranges.end_line[which]), int(ranges.end_column[which]))
        placed.good[which] = start is not None and end is not None and start <= end
        if start is not None and end is not None:
            base = int(self._offsets[owner])
            placed.start[which], placed.end[which] = base + start, base + end
            placed.line[which], placed.column[which] = text.place(start)
            placed.end_line[which], placed.end_column[which] = text.place(end)
