"""Chunks of a file: an anchor, then text that covers everything but blank lines exactly once, in order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from gitindex.extract.cuts import Span, cut_spans
from gitindex.extract.nesting import Outline
from gitindex.extract.source_text import SourceText
from gitindex.extract.words import terms_and_compounds
from gitindex.model.ids import chunk_hash
from gitindex.model.rows import Chunk, ExtractedSymbol

_LONG_LINE = 1.5  # times the target: a longer single line is cut inside


def cut_chunks(
    source: SourceText, outline: Outline, anchor: str, target: int, max_chunks: int
) -> tuple[tuple[Chunk, ...], bool]:
    """At most `max_chunks` chunks, and whether that cut the file."""
    rows: list[tuple[Any, ...]] = [("anchor", anchor, 1, 1, 0, 0, "", "", "")]
    labels = _ChunkLabels(outline.symbols)
    truncated = False
    for span in _split_long_lines(source, outline.extents, target):
        truncated = len(rows) >= max_chunks
        if truncated:
            break
        text = source.text(span.start, span.end)
        if text.isspace():  # white space beyond ASCII, which bytes do not show
            continue
        start, end = span.start + source.shift, span.end + source.shift
        rows.append(("text", text, span.first + 1, span.last + 1, start, end, *labels.find_label(start, end)))
    words = terms_and_compounds([row[1] for row in rows])
    built = (
        Chunk._make((ordinal, kind, text, chunk_hash(text), *rest, *word_fields))
        for ordinal, ((kind, text, *rest), word_fields) in enumerate(zip(rows, words, strict=True))
    )
    return tuple(built), truncated


def _split_long_lines(source: SourceText, extents: Sequence[tuple[int, int]], target: int) -> Iterator[Span]:
    """Over-long lines in pieces."""
    longest = target * _LONG_LINE
    for span in cut_spans(source, extents, target):
        if span.first == span.last and span.end - span.start > longest:
            yield from _split_line(source, span, target)
        else:
            yield span


def _split_line(source: SourceText, span: Span, target: int) -> Iterator[Span]:
    """One line, cut at code points; pieces of nothing but white space are left out."""
    points = source.code_points(span.start, span.end)
    edges = [span.start]
    if len(points) > target * _LONG_LINE:
        edges = points[:: max(1, target)]
    for start, end in zip(edges, [*edges[1:], span.end], strict=True):
        if source.data[start:end].strip():
            yield Span(start, end, span.first, span.last)


class _ChunkLabels:
    """Which definitions a chunk shows."""

    def __init__(self, symbols: Sequence[ExtractedSymbol]) -> None:
        self._symbols = symbols
        self._starts = [symbol.byte_start for symbol in symbols]

    def find_label(self, start: int, end: int) -> tuple[str, str, str]:
        """Qualified name and kind of the first definition starting here, or of the one around; all names."""
        low = bisect_left(self._starts, start)
        high = bisect_left(self._starts, end)
        if low < high:
            names = " ".join(dict.fromkeys(symbol.name for symbol in self._symbols[low:high]))
            return self._symbols[low].qualified_name, self._symbols[low].kind, names
        index = low - 1
        while index >= 0 and self._symbols[index].byte_end <= start:
            index = self._symbols[index].parent
        if index < 0:
            return "", "", ""
        return self._symbols[index].qualified_name, self._symbols[index].kind, ""
