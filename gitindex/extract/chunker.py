"""Cuts a file into chunks: an anchor, then text chunks that hold every line but blank ones exactly once, in order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitindex.extract.cuts import Span, cut_spans
from gitindex.extract.nesting import Outline
from gitindex.extract.source_text import SourceText
from gitindex.extract.words import terms_and_compounds
from gitindex.model.ids import chunk_hash
from gitindex.model.rows import Chunk, ExtractedSymbol

_LONG_LINE = 1.5  # times the target: a longer single line is cut inside


class _Label(NamedTuple):
    """The definitions that a chunk shows."""

    symbol: str = ""
    symbol_kind: str = ""
    names: str = ""


class _Passage(NamedTuple):
    """A chunk before its hash and its words are computed."""

    kind: str
    text: str
    start_line: int
    end_line: int
    byte_start: int
    byte_end: int
    label: _Label


def cut_chunks(
    source: SourceText, outline: Outline, anchor: str, target: int, max_chunks: int
) -> tuple[tuple[Chunk, ...], bool]:
    """At most `max_chunks` chunks, and whether that cut the file."""
    passages = [_Passage("anchor", anchor, 1, 1, 0, 0, _Label())]
    labels = _ChunkLabels(outline.symbols)
    truncated = False
    for span in _split_long_lines(source, outline.extents, target):
        truncated = len(passages) >= max_chunks
        if truncated:
            break
        text = source.text(span.start, span.end)
        if text.isspace():  # white space beyond ASCII, which bytes do not show
            continue
        start, end = span.start + source.shift, span.end + source.shift
        label = labels.find_label(start, end)
        passages.append(_Passage("text", text, span.first + 1, span.last + 1, start, end, label))
    words = terms_and_compounds([passage.text for passage in passages])
    chunks = (
        Chunk(
            ordinal=ordinal,
            kind=passage.kind,
            text=passage.text,
            chunk_hash=chunk_hash(passage.text),
            start_line=passage.start_line,
            end_line=passage.end_line,
            byte_start=passage.byte_start,
            byte_end=passage.byte_end,
            symbol=passage.label.symbol,
            symbol_kind=passage.label.symbol_kind,
            names=passage.label.names,
            terms=terms,
            idents=compounds,
        )
        for ordinal, (passage, (terms, compounds)) in enumerate(zip(passages, words, strict=True))
    )
    return tuple(chunks), truncated


def _split_long_lines(source: SourceText, extents: Sequence[tuple[int, int]], target: int) -> Iterator[Span]:
    """The spans of `cut_spans`, over-long lines cut into pieces."""
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
    """Finds the definitions that a chunk shows."""

    def __init__(self, symbols: Sequence[ExtractedSymbol]) -> None:
        self._symbols = symbols
        self._starts = [symbol.byte_start for symbol in symbols]

    def find_label(self, start: int, end: int) -> _Label:
        """The first definition that starts in the range, with the names of all that do; else the enclosing one."""
        low = bisect_left(self._starts, start)
        high = bisect_left(self._starts, end)
        if low < high:
            names = " ".join(dict.fromkeys(symbol.name for symbol in self._symbols[low:high]))
            return _Label(self._symbols[low].qualified_name, self._symbols[low].kind, names)
        index = low - 1
        while index >= 0 and self._symbols[index].byte_end <= start:
            index = self._symbols[index].parent
        if index < 0:
            return _Label()
        return _Label(self._symbols[index].qualified_name, self._symbols[index].kind)
