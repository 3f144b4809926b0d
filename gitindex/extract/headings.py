"""Headings of Markdown as nested symbols: a heading's range is its section.

A scanner of lines instead of a grammar: headings need no more, and it cannot be slow.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gitindex.extract.definitions import Definition
from gitindex.extract.source_text import Source

_ATX = re.compile(rb" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t\r]*$")
_SETEXT = re.compile(rb" {0,3}(=+|-+)[ \t\r]*$")
_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_NOT_TEXT = re.compile(rb"\s*$| {4}|\t| {0,3}(?:[-*+>|]|\d+[.)])")
_LONGEST = 1000
_MOST = 2000


class _Heading(NamedTuple):
    row: int
    level: int
    title: str


def headings(source: Source, skip_rows: int) -> list[Definition]:
    """Sections, outer before inner; `skip_rows` lines of front matter are left out."""
    found = _headings(source, skip_rows)
    ends = [len(source.data.rstrip())] * len(found)
    open_sections: list[int] = []
    for index, heading in enumerate(found):
        while open_sections and found[open_sections[-1]].level >= heading.level:
            ends[open_sections.pop()] = source.starts[heading.row]
        open_sections.append(index)
    return [_definition(source, heading, end) for heading, end in zip(found, ends, strict=True)]


def _definition(source: Source, heading: _Heading, end: int) -> Definition:
    start = source.starts[heading.row]
    end = start + len(source.data[start:end].rstrip())
    signature = f"{'#' * heading.level} {heading.title}"[:240]
    return Definition(start, end, "heading", heading.title, "", start, signature, "", heading.row, True)


def _headings(source: Source, skip_rows: int) -> list[_Heading]:
    found: list[_Heading] = []
    fence = b""
    previous = b""
    for row in range(skip_rows, len(source.starts)):
        if len(found) == _MOST:
            break
        line = _line(source, row)
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(b" `~\t\r"):
                fence = b""
            previous = b""
            continue
        if mark:
            fence, previous = mark[1], b""
            continue
        heading = _heading(row, line, previous)
        if heading is not None:
            found.append(heading)
        previous = b"" if heading is not None else line
    return found


def _line(source: Source, row: int) -> bytes:
    start = source.starts[row]
    end = source.starts[row + 1] - 1 if row + 1 < len(source.starts) else len(source.data)
    return source.data[start : min(end, start + _LONGEST)]


def _heading(row: int, line: bytes, previous: bytes) -> _Heading | None:
    atx = _ATX.match(line)
    if atx:
        title = _title(atx[2] or b"")
        return _Heading(row, len(atx[1]), title) if title else None
    under = _SETEXT.match(line)
    if under and not _NOT_TEXT.match(previous):
        return _Heading(row - 1, 1 if under[1].startswith(b"=") else 2, _title(previous))
    return None


def _title(raw: bytes) -> str:
    return " ".join(raw.decode("utf-8", "replace").split())[:200]
