"""One file's bytes with line starts and code point columns.

A line ends at LF only, as in the syntax trees. A byte order mark is left out, so line 1 starts at column 1;
`shift` turns offsets in `data` into offsets in the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_BOM = b"\xef\xbb\xbf"


class Source:
    """Bytes without the mark, and the arithmetic of positions in them."""

    def __init__(self, raw: bytes) -> None:
        self.shift = len(_BOM) if raw.startswith(_BOM) else 0
        self.data = raw[self.shift :]
        self._bytes = np.frombuffer(self.data, dtype=np.uint8)
        self._starts = np.concatenate(([0], np.flatnonzero(self._bytes == 10) + 1))
        self.starts: list[int] = self._starts.tolist()

    @property
    def lines(self) -> int:
        """Number of lines; a final line feed ends a line and starts none."""
        return len(self.starts) - (self.starts[-1] == len(self.data))

    @cached_property
    def _wide(self) -> NDArray[np.int64] | None:
        """For each offset, how many UTF-8 continuation bytes stand before it; None for plain ASCII."""
        if self.data.isascii():
            return None
        return np.concatenate(([0], np.cumsum((self._bytes & 0xC0) == 0x80)))

    def rows(self, offsets: Iterable[int]) -> list[int]:
        """0-based rows of byte offsets."""
        found: list[int] = (self._starts.searchsorted(_array(offsets), "right") - 1).tolist()
        return found

    def locate(
        self, offsets: Iterable[int] | NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """1-based lines and 1-based code point columns of byte offsets."""
        where = _array(offsets)
        rows = self._starts.searchsorted(where, "right")
        begin = self._starts[rows - 1]
        columns = where - begin + 1
        if self._wide is not None:
            columns -= self._wide[where] - self._wide[begin]
        return rows, columns

    @cached_property
    def chars(self) -> list[int]:
        """Code points before each line start, and in all: what chunk sizes are measured in."""
        ends = np.append(self._starts, len(self.data))
        if self._wide is not None:
            ends = ends - self._wide[ends]
        result: list[int] = ends.tolist()
        return result

    def rows_between(self, first: int, last: int) -> list[bytes]:
        """The lines of rows from `first` up to, not including, `last`; without their ends."""
        end = self.starts[last] - 1 if last < len(self.starts) else len(self.data)
        return self.data[self.starts[first] : end].split(b"\n")

    def code_points(self, start: int, end: int) -> list[int]:
        """Offsets at which code points between the two begin; the first is always `start`."""
        if self._wide is None:
            return list(range(start, end))
        found: list[int] = (np.flatnonzero((self._bytes[start:end] & 0xC0) != 0x80) + start).tolist()
        return found if found[:1] == [start] else [start, *found]

    def text(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "replace")


def _array(offsets: Iterable[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    if isinstance(offsets, np.ndarray):
        return offsets
    return np.array(offsets if isinstance(offsets, list) else list(offsets), dtype=np.int64)
