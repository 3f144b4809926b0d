"""Converts a tool's lines and columns to ours: lines end at LF, columns count code points, both 1-based.

Tools disagree. Columns are UTF-8, UTF-16 or UTF-32 units; pyright also ends lines at a lone CR, TypeScript at U+2028
and U+2029 too; a byte order mark is a column for some tools and not for others. A position is therefore converted to
a byte offset by the tool's rules and from there to ours, where the mark is not a column. `splitlines()` must not be
used: it splits at ten further characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from gitindex.scip.schema import UTF8, UTF32

_BOM = b"\xef\xbb\xbf"
_BREAKS = re.compile(rb"\r\n|\r|\n")
_BREAKS_UNICODE = re.compile(rb"\r\n|\r|\n|\xe2\x80[\xa8\xa9]")


@dataclass(frozen=True, slots=True)
class PositionRules:
    """How a tool counts lines and columns."""

    encoding: int
    unicode_breaks: bool = False  # U+2028 and U+2029 end a line
    bom_is_column: bool = False


def has_plain_lines(data: bytes, rules: PositionRules) -> bool:
    """Whether the tool's lines are our lines, so that only columns can differ."""
    if data.startswith(_BOM) or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")):
        return False
    return not (rules.unicode_breaks and (b"\xe2\x80\xa8" in data or b"\xe2\x80\xa9" in data))


class PositionedText:
    """The bytes of one file, with the line starts by the tool's rules and by ours."""

    def __init__(self, data: bytes, rules: PositionRules) -> None:
        self.data = data
        self.rules = rules
        pattern = _BREAKS_UNICODE if rules.unicode_breaks else _BREAKS
        breaks = [match.span() for match in pattern.finditer(data)]
        first = len(_BOM) if data.startswith(_BOM) and not rules.bom_is_column else 0
        self._starts = [first, *[end for _, end in breaks]]
        self._ends = [*[start for start, _ in breaks], len(data)]
        self._lf_starts = [0, *accumulate([len(line) + 1 for line in data.split(b"\n")[:-1]])]

    def offset_of(self, line: int, column: int) -> int | None:
        """Byte offset of a zero-based position in the tool's units; None outside the text."""
        if not 0 <= line < len(self._starts) or column < 0:
            return None
        start, end = self._starts[line], self._ends[line]
        width = _count_bytes(self.data[start:end], column, self.rules.encoding)
        return None if width is None else start + width

    def position_of(self, offset: int) -> tuple[int, int]:
        """1-based line and code point column of a byte offset."""
        line = bisect_right(self._lf_starts, offset)
        start = self._lf_starts[line - 1]
        if line == 1 and self.data.startswith(_BOM):
            start = min(offset, len(_BOM))
        return line, len(self.data[start:offset].decode("utf-8", "replace")) + 1


def _count_bytes(line: bytes, column: int, encoding: int) -> int | None:
    """Bytes that the first `column` units of `line` take; None when the line is shorter."""
    if encoding == UTF8 or line[: column + 1].isascii():
        return column if column <= len(line) else None
    text = line.decode("utf-8", "replace")
    if encoding == UTF32:
        return len(text[:column].encode()) if column <= len(text) else None
    units = width = 0
    for character in text:
        if units >= column:
            break
        units += 2 if character > "\uffff" else 1
        width += len(character.encode())
    return width if units >= column else None
