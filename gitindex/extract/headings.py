"""Headings of Markdown as nested symbols: a heading's range is its section.

Scans lines instead of using a grammar: headings need no more, and its time is linear in the file's size.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gitindex.extract.definitions import ParsedDefinition
from gitindex.extract.source_text import SourceText

_ATX = re.compile(rb" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t\r]*$")
_SETEXT = re.compile(rb" {0,3}(=+|-+)[ \t\r]*$")
_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_NOT_TEXT = re.compile(rb"\s*$| {4}|\t| {0,3}(?:[-*+>|]|\d+[.)])")
_MAX_LINE = 1000
_MAX_HEADINGS = 2000


class _Heading(NamedTuple):
    row: int
    level: int
    title: str


def find_headings(source: SourceText, skip_rows: int) -> list[ParsedDefinition]:
    """Sections, outer before inner; the first `skip_rows` lines (front matter) hold none."""
    sections = _scan_headings(source, skip_rows)
    ends = [len(source.data.rstrip())] * len(sections)
    open_sections: list[int] = []
    for index, heading in enumerate(sections):
        while open_sections and sections[open_sections[-1]].level >= heading.level:
            ends[open_sections.pop()] = source.starts[heading.row]
        open_sections.append(index)
    return [_make_definition(source, heading, end) for heading, end in zip(sections, ends, strict=True)]


def _make_definition(source: SourceText, heading: _Heading, end: int) -> ParsedDefinition:
    start = source.starts[heading.row]
    end = start + len(source.data[start:end].rstrip())
    signature = f"{'#' * heading.level} {heading.title}"[:240]
    return ParsedDefinition(
        start=start,
        end=end,
        kind="heading",
        name=heading.title,
        name_start=start,
        signature=signature,
        lead_row=heading.row,
    )


def _scan_headings(source: SourceText, skip_rows: int) -> list[_Heading]:
    parsed: list[_Heading] = []
    fence = b""
    previous = b""
    for row in range(skip_rows, len(source.starts)):
        if len(parsed) == _MAX_HEADINGS:
            break
        line = _read_line(source, row)
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(b" `~\t\r"):
                fence = b""
            previous = b""
            continue
        if mark:
            fence, previous = mark[1], b""
            continue
        heading = _parse_heading(row, line, previous)
        if heading is not None:
            parsed.append(heading)
        previous = b"" if heading is not None else line
    return parsed


def _read_line(source: SourceText, row: int) -> bytes:
    start = source.starts[row]
    end = source.starts[row + 1] - 1 if row + 1 < len(source.starts) else len(source.data)
    return source.data[start : min(end, start + _MAX_LINE)]


def _parse_heading(row: int, line: bytes, previous: bytes) -> _Heading | None:
    atx = _ATX.match(line)
    if atx:
        title = _clean_title(atx[2] or b"")
        return _Heading(row, len(atx[1]), title) if title else None
    under = _SETEXT.match(line)
    if under and not _NOT_TEXT.match(previous):
        return _Heading(row - 1, 1 if under[1].startswith(b"=") else 2, _clean_title(previous))
    return None


def _clean_title(raw: bytes) -> str:
    return " ".join(raw.decode("utf-8", "replace").split())[:200]
