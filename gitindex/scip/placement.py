"""Converts the ranges of many documents from a tool's units to byte offsets and to our lines and columns.

The texts are joined by LF, so that one set of array operations serves a whole batch. Most lines are ASCII, where a
column is a byte and a code point at once. Positions on other lines, and all positions of texts with a byte order mark
or other line ends than LF and CRLF, are converted one by one (`positions.PositionedText`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip.positions import PositionedText, PositionRules, has_plain_lines
from gitindex.scip.ranges import Ints, Ranges


class PlacedRanges(NamedTuple):
    """Parallel arrays: offsets into `TextBatch.data`, then 1-based lines and code point columns.

    `in_text` is False for a range outside its text.
    """

    start: Ints
    end: Ints
    line: Ints
    column: Ints
    end_line: Ints
    end_column: Ints
    in_text: npt.NDArray[np.bool_]


class TextBatch:
    def __init__(self, texts: Sequence[tuple[bytes, PositionRules]]) -> None:
        self._texts = texts
        self.data = b"\n".join([*(data for data, _ in texts), b""])
        sizes = np.array([0, *(len(data) + 1 for data, _ in texts)], dtype=np.int64)
        self._offsets = np.cumsum(sizes)[:-1]
        buffer = np.frombuffer(self.data, dtype=np.uint8)
        self._starts = np.concatenate((np.zeros(1, np.int64), np.flatnonzero(buffer == 10) + 1))
        self._widths = np.diff(self._starts) - 1
        self._first_line = np.searchsorted(self._starts, self._offsets)
        self._lines = np.diff(self._first_line, append=len(self._starts) - 1)
        # Lines whose positions cannot be converted by addition.
        self._irregular = np.zeros(len(self._widths), dtype=np.bool_)
        if not self.data.isascii():
            lines = np.searchsorted(self._starts, np.flatnonzero(buffer > 127), side="right") - 1
            self._irregular[lines] = True
        for number, (data, rules) in enumerate(texts):
            if not has_plain_lines(data, rules):
                first = int(self._first_line[number])
                self._irregular[first : first + int(self._lines[number])] = True
        self._slow_texts: dict[int, PositionedText] = {}

    def place_ranges(self, ranges: Ranges, owner: Ints) -> PlacedRanges:
        """`owner` is the number of each range's text."""
        base, lines = self._first_line[owner], self._lines[owner]
        line, end_line = np.clip(ranges.line, 0, lines - 1), np.clip(ranges.end_line, 0, lines - 1)
        line_index, end_line_index = base + line, base + end_line
        in_text = (line == ranges.line) & (end_line == ranges.end_line)
        in_text &= (ranges.column >= 0) & (ranges.column <= self._widths[line_index])
        in_text &= (ranges.end_column >= 0) & (ranges.end_column <= self._widths[end_line_index])
        start = self._starts[line_index] + ranges.column
        end = self._starts[end_line_index] + ranges.end_column
        in_text &= end >= start
        placed = PlacedRanges(
            start=start,
            end=end,
            line=line + 1,
            column=ranges.column + 1,
            end_line=end_line + 1,
            end_column=ranges.end_column + 1,
            in_text=in_text,
        )
        # In a text with other line ends the tool's line may be beyond our last one, which `clip` has hidden: all lines
        # of such a text are irregular.
        irregular = self._irregular[line_index] | self._irregular[end_line_index]
        for index in np.flatnonzero(irregular).tolist():
            self._place_one(ranges, placed, index, int(owner[index]))
        return placed

    def _place_one(self, ranges: Ranges, placed: PlacedRanges, index: int, owner: int) -> None:
        text = self._slow_texts.get(owner)
        if text is None:
            text = self._slow_texts[owner] = PositionedText(*self._texts[owner])
        start = text.offset_of(int(ranges.line[index]), int(ranges.column[index]))
        end = text.offset_of(int(ranges.end_line[index]), int(ranges.end_column[index]))
        placed.in_text[index] = start is not None and end is not None and start <= end
        if start is not None and end is not None:
            base = int(self._offsets[owner])
            placed.start[index], placed.end[index] = base + start, base + end
            placed.line[index], placed.column[index] = text.position_of(start)
            placed.end_line[index], placed.end_column[index] = text.position_of(end)
