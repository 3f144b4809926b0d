"""One file's bytes with line starts and code point columns.

A line ends at LF only, as in the syntax trees. A byte order mark is left out, so line 1 starts at column 1;
`shift` turns offsets in `data` into offsets in the file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gitindex.extract.native import scan

_LINE_FEED = 10
_BOM = b"\xef\xbb\xbf"


class SourceText:
    """The bytes of a file without byte order mark, and the conversion of offsets into lines and columns."""

    def __init__(self, raw: bytes) -> None:
        self.shift = len(_BOM) if raw.startswith(_BOM) else 0
        self.data = raw[self.shift :]
        self.starts = _find_line_starts(self.data)

    @property
    def lines(self) -> int:
        """Number of lines; a final line feed ends a line and starts none."""
        return len(self.starts) - (self.starts[-1] == len(self.data))

    @cached_property
    def _continuation_counts(self) -> NDArray[np.int64] | None:
        """For each offset, how many UTF-8 continuation bytes stand before it; None for plain ASCII."""
        if self.data.isascii():
            return None
        return np.concatenate(([0], np.cumsum((_as_array(self.data) & 0xC0) == 0x80)))

    def rows(self, offsets: Iterable[int]) -> list[int]:
        """0-based rows of byte offsets."""
        starts = self.starts
        return [bisect_right(starts, offset) - 1 for offset in offsets]

    def locate(self, offsets: Sequence[int]) -> tuple[list[int], list[int]]:
        """1-based lines and 1-based code point columns of byte offsets."""
        starts, counts = self.starts, self._continuation_counts
        rows = [bisect_right(starts, offset) for offset in offsets]
        begins = [starts[row - 1] for row in rows]
        columns = [offset - begin + 1 for offset, begin in zip(offsets, begins, strict=True)]
        if counts is not None:
            beyond = (counts[list(offsets)] - counts[begins]).tolist()
            columns = [column - extra for column, extra in zip(columns, beyond, strict=True)]
        return rows, columns

    @cached_property
    def chars(self) -> list[int]:
        """Code points before each line start, and in all: what chunk sizes are measured in."""
        ends = [*self.starts, len(self.data)]
        if self._continuation_counts is None:
            return ends
        result: list[int] = (np.array(ends) - self._continuation_counts[ends]).tolist()
        return result

    def rows_between(self, first: int, last: int) -> list[bytes]:
        """The lines of rows from `first` up to, not including, `last`; without their ends."""
        end = self.starts[last] - 1 if last < len(self.starts) else len(self.data)
        return self.data[self.starts[first] : end].split(b"\n")

    def code_points(self, start: int, end: int) -> list[int]:
        """Offsets at which code points between the two begin; the first is always `start`."""
        if self._continuation_counts is None:
            return list(range(start, end))
        offsets: list[int] = (
            np.flatnonzero((_as_array(self.data[start:end]) & 0xC0) != 0x80) + start
        ).tolist()
        return offsets if offsets[:1] == [start] else [start, *offsets]

    def text(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")


def _find_line_starts(data: bytes) -> list[int]:
    if scan is not None:
        line_starts: list[int] = scan.starts(data)
        return line_starts
    return [0, *(np.flatnonzero(_as_array(data) == _LINE_FEED) + 1).tolist()]


def _as_array(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)
