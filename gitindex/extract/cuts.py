"""Where to cut a file: line ranges of about the target size that respect definitions.

A definition up to one and a half times the target stays whole with its comments; small neighbours share a range;
a larger one is cut between its inner definitions, then at blank or shallow lines. Ranges ascend and cover all lines
but the blank ones around them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gitindex.extract.native import scan
from gitindex.extract.source_text import SourceText

_WHOLE = 1.5  # times the target: below this a definition is never cut
_TINY = 0.08  # times the target: text this short, such as a closing brace, joins the range before it
_INDENT_BYTES = (
    200  # bytes of a line that are read; a line whose first 200 bytes are white space counts as blank
)
_BLANK_BONUS = 1000  # a cut after a blank line is always better than one at any indentation

Range = tuple[int, int]  # 0-based rows, half-open


class Span(NamedTuple):
    start: int  # of its first line
    end: int
    first: int  # 0-based rows
    last: int


class _Block(NamedTuple):
    first: int
    last: int  # exclusive
    inner: list[_Block]
    definition: bool = True


def cut_spans(source: SourceText, extents: Sequence[tuple[int, int]], target: int) -> Iterator[Span]:
    """Line ranges to chunk. `extents` are inclusive row ranges of definitions in order of their start."""
    sizes = _Sizes.from_target(target)
    if scan is not None:
        return map(Span._make, scan.spans(source.data, extents, *sizes, _INDENT_BYTES, _BLANK_BONUS))
    root = _Block(0, len(source.starts), _nest_extents(extents))
    return _trim_ranges(source, _Cutter(source, sizes).cut_ranges(root))


class _Sizes(NamedTuple):
    """In code points; the compiled scanner reads them in this order."""

    target: int
    whole: int
    tiny: int

    @classmethod
    def from_target(cls, target: int) -> _Sizes:
        target = max(1, target)
        return cls(target, int(target * _WHOLE), int(target * _TINY))


def _trim_ranges(source: SourceText, ranges: Iterable[Range]) -> Iterator[Span]:
    data, starts = source.data, source.starts
    for first, last in ranges:
        begin = starts[first]
        text = data[begin : starts[last] if last < len(starts) else len(data)].rstrip()
        if text:
            top = bisect_right(starts, begin + len(text) - len(text.lstrip())) - 1
            bottom = bisect_right(starts, begin + len(text) - 1) - 1
            yield Span(starts[top], begin + len(text), top, bottom)


def _nest_extents(extents: Sequence[tuple[int, int]]) -> list[_Block]:
    """Nest multi-line extents; one that overlaps its neighbour's last line joins it."""
    top: list[_Block] = []
    stack: list[_Block] = []
    for first, last in sorted(extents, key=lambda extent: (extent[0], -extent[1])):
        if last <= first:
            continue
        while stack and stack[-1].last <= first:
            stack.pop()
        if stack and last >= stack[-1].last:
            continue
        block = _Block(first, last + 1, [])
        (stack[-1].inner if stack else top).append(block)
        stack.append(block)
    return top


class _Cutter:
    def __init__(self, source: SourceText, sizes: _Sizes) -> None:
        self._source = source
        self._chars = source.chars
        self._target, self._whole, self._tiny = sizes

    def size(self, first: int, last: int) -> int:
        return self._chars[last] - self._chars[first]

    def cut_ranges(self, root: _Block) -> Iterator[Range]:
        """Depth first without recursion: a group never spans two levels."""
        work: list[Iterator[_Block | Range]] = [self._cut_level(root)]
        while work:
            step = next(work[-1], None)
            if step is None:
                work.pop()
            elif isinstance(step, _Block):
                work.append(self._cut_level(step))
            else:
                yield step

    def _cut_level(self, block: _Block) -> Iterator[_Block | Range]:
        """The block's parts: finished ranges, and inner blocks too large to stay whole."""
        chars = self._chars
        begin = end = block.first
        for part in self._split_parts(block):
            first, last, inner, definition = part
            size = chars[last] - chars[first]
            if size > self._whole:
                if end > begin:
                    yield begin, end
                yield from [part] if inner else self._cut_lines(first, last)
                begin = end = last
                continue
            together = chars[last] - chars[begin]
            is_tiny = not definition and size <= self._tiny and together <= self._whole
            if end > begin and together > self._target and not is_tiny:
                yield begin, end
                begin = first
            end = last
        if end > begin:
            yield begin, end

    def _split_parts(self, block: _Block) -> Iterator[_Block]:
        row = block.first
        for inner in block.inner:
            if inner.first > row:
                yield from self._split_text(row, inner.first)
            yield inner
            row = inner.last
        if row < block.last:
            yield from self._split_text(row, block.last)

    def _split_text(self, first: int, last: int) -> Iterator[_Block]:
        """Text between definitions: one part if small, else cut like any large text."""
        if self.size(first, last) <= self._whole:
            yield _Block(first, last, [], definition=False)
            return
        for begin, end in self._cut_lines(first, last):
            yield _Block(begin, end, [], definition=False)

    def _cut_lines(self, first: int, last: int) -> Iterator[Range]:
        while self.size(first, last) > self._whole and last - first > 1:
            end = bisect_right(self._chars, self._chars[first] + self._target, first + 1, last) - 1
            # A first line longer than the target stands alone; the caller cuts inside it.
            end = first + 1 if end <= first else self._find_best_cut(first, min(end, last - 1))
            yield first, end
            first = end
        if first < last:
            yield first, last

    def _find_best_cut(self, first: int, end: int) -> int:
        """The best row of the second half to cut before: after a blank line, else the least indented one."""
        half = bisect_right(self._chars, self._chars[first] + self._target // 2, first + 1, end)
        low = max(half, first + 1)
        best, cost = end, 1 << 30
        blank_before = False
        for row, line in enumerate(self._source.rows_between(low - 1, end + 1), low - 1):
            prefix = line[:_INDENT_BYTES]
            text = prefix.lstrip()
            if text and row >= low:
                price = len(prefix) - len(text) - (_BLANK_BONUS if blank_before else 0)
                if price <= cost:  # of equal ones the last
                    best, cost = row, price
            blank_before = not text
        return best
