"""Where to cut a file: line ranges near the aimed size that respect definitions.

A definition up to one and a half times the target stays whole with its comments; small neighbours share a range;
a larger one is cut between its inner definitions, then at blank or shallow lines. Ranges ascend and cover all lines
but the blank ones around them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gitindex.extract.native import scan
from gitindex.extract.source_text import Source

_WHOLE = 1.5  # times the target: below this a definition is never cut
_CRUMB = 0.08  # times the target: a closing brace or so joins what stands before it
_LOOKED_AT = 200  # bytes of a line: white space beyond makes it blank
_AFTER_BLANK = 1000

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


def spans(source: Source, extents: Sequence[tuple[int, int]], target: int) -> Iterator[Span]:
    """`extents` are inclusive row ranges of definitions in order of their start."""
    sizes = _Sizes.of(target)
    if scan is not None:
        return map(Span._make, scan.spans(source.data, extents, *sizes, _LOOKED_AT, _AFTER_BLANK))
    root = _Block(0, len(source.starts), _tree(extents))
    return _trimmed(source, _Cutter(source, sizes).ranges(root))


class _Sizes(NamedTuple):
    """In code points."""

    target: int
    whole: int
    crumb: int

    @classmethod
    def of(cls, target: int) -> _Sizes:
        aim = max(1, target)
        return cls(aim, int(aim * _WHOLE), int(aim * _CRUMB))


def _trimmed(source: Source, ranges: Iterable[Range]) -> Iterator[Span]:
    data, starts = source.data, source.starts
    for first, last in ranges:
        begin = starts[first]
        kept = data[begin : starts[last] if last < len(starts) else len(data)].rstrip()
        if kept:
            top = bisect_right(starts, begin + len(kept) - len(kept.lstrip())) - 1
            bottom = bisect_right(starts, begin + len(kept) - 1) - 1
            yield Span(starts[top], begin + len(kept), top, bottom)


def _tree(extents: Sequence[tuple[int, int]]) -> list[_Block]:
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
    def __init__(self, source: Source, sizes: _Sizes) -> None:
        self._source = source
        self._chars = source.chars
        self._target, self._whole, self._crumb = sizes

    def size(self, first: int, last: int) -> int:
        return self._chars[last] - self._chars[first]

    def ranges(self, root: _Block) -> Iterator[Range]:
        """Depth first without recursion: a group never spans two levels."""
        work: list[Iterator[_Block | Range]] = [self._level(root)]
        while work:
            step = next(work[-1], None)
            if step is None:
                work.pop()
            elif isinstance(step, _Block):
                work.append(self._level(step))
            else:
                yield step

    def _level(self, block: _Block) -> Iterator[_Block | Range]:
        """The block's parts: finished ranges, and inner blocks too large to stay whole."""
        chars = self._chars
        begin = end = block.first
        for part in self._parts(block):
            first, last, inner, definition = part
            size = chars[last] - chars[first]
            if size > self._whole:
                if end > begin:
                    yield begin, end
                yield from [part] if inner else self._lines(first, last)
                begin = end = last
                continue
            together = chars[last] - chars[begin]
            crumb = not definition and size <= self._crumb and together <= self._whole
            if end > begin and together > self._target and not crumb:
                yield begin, end
                begin = first
            end = last
        if end > begin:
            yield begin, end

    def _parts(self, block: _Block) -> Iterator[_Block]:
        at = block.first
        for inner in block.inner:
            if inner.first > at:
                yield from self._paragraphs(at, inner.first)
            yield inner
            at = inner.last
        if at < block.last:
            yield from self._paragraphs(at, block.last)

    def _paragraphs(self, first: int, last: int) -> Iterator[_Block]:
        """Text between definitions: one part if small, else cut like any large text."""
        if self.size(first, last) <= self._whole:
            yield _Block(first, last, [], definition=False)
            return
        for begin, end in self._lines(first, last):
            yield _Block(begin, end, [], definition=False)

    def _lines(self, first: int, last: int) -> Iterator[Range]:
        while self.size(first, last) > self._whole and last - first > 1:
            end = bisect_right(self._chars, self._chars[first] + self._target, first + 1, last) - 1
            # A first line longer than the target stands alone; the caller cuts inside it.
            end = first + 1 if end <= first else self._best(first, min(end, last - 1))
            yield first, end
            first = end
        if first < last:
            yield first, last

    def _best(self, first: int, end: int) -> int:
        """The row in the second half at which cutting hurts least: after a blank line, else a shallow one."""
        half = bisect_right(self._chars, self._chars[first] + self._target // 2, first + 1, end)
        low = max(half, first + 1)
        best, cost = end, 1 << 30
        blank_before = False
        for row, line in enumerate(self._source.rows_between(low - 1, end + 1), low - 1):
            seen = line[:_LOOKED_AT]
            text = seen.lstrip()
            if text and row >= low:
                price = len(seen) - len(text) - (_AFTER_BLANK if blank_before else 0)
                if price <= cost:  # of equals the last
                    best, cost = row, price
            blank_before = not text
        return best
