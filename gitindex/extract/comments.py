"""Comments, decorators and attributes that stand directly above a definition and belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from gitindex.extract.source_text import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node

_DOC = 400  # characters that are kept; read are four times as many bytes, enough for any code points
_OPEN = re.compile(r"^\s*(?:/\*\*?!?|//[/!]?|\#!?|---?\[*=*\[?|\*(?!/))?[ \t]?")
_QUOTES_BEFORE = re.compile(r"^\w*(\"\"\"|'''|\"|')")
_QUOTES_AFTER = re.compile(r"(\"\"\"|'''|\"|')$")
_CLOSE = re.compile(r"\s*(?:\*+/|\]=*\])\s*$")


class LeadBlock(NamedTuple):
    """Lines on which nothing stands before one comment or attribute."""

    first: int  # 0-based rows
    last: int
    start: int
    end: int
    is_comment: bool


class LeadingBlocks:
    """Comments and attributes by their last row, to walk upwards from a definition."""

    def __init__(self, source: SourceText, comments: Iterable[Node], attributes: Iterable[Node]) -> None:
        self._source = source
        spans = [(node.start_byte, node.end_byte, True) for node in comments]
        spans.extend((node.start_byte, node.end_byte, False) for node in attributes)
        self._by_last = {block.last: block for block in _find_blocks(source, spans)}

    def find_above(self, row: int) -> tuple[int, str]:
        """The first row of the blocks directly above a definition on `row`, and the documentation in them."""
        texts: list[str] = []
        while (block := self._by_last.get(row - 1)) is not None and block.first < row:
            row = block.first
            if block.is_comment and sum(map(len, texts)) < _DOC * 4:
                texts.append(self._source.text(block.start, min(block.end, block.start + _DOC * 4)))
        return row, clean_comment("\n".join(reversed(texts))) if texts else ""

    def read_opening(self) -> str:
        """The text of the comment that opens the file, without a shebang line."""
        blocks = sorted(block for block in self._by_last.values() if block.is_comment)
        texts: list[str] = []
        row = 0
        for block in blocks[:40]:
            if block.first > row + 1 and (texts or block.first > 2):
                break  # a gap ends the comment; two blank lines may stand before it
            row = block.last
            text = self._source.text(block.start, min(block.end, block.start + _DOC * 4))
            if not text.startswith("#!"):
                texts.append(text)
        return clean_comment("\n".join(texts))


def _find_blocks(source: SourceText, spans: list[tuple[int, int, bool]]) -> Iterable[LeadBlock]:
    data, starts = source.data, source.starts
    spans.sort()
    ends = [max(start, end - 1) if data[end - 1 : end] == b"\n" else end for start, end, _ in spans]
    first = source.rows(start for start, _, _ in spans)
    last = source.rows(ends)
    for (start, _, is_comment), end, top, bottom in zip(spans, ends, first, last, strict=True):
        if data[starts[top] : start].strip() in (b"", b"template"):
            yield LeadBlock(top, bottom, start, end, is_comment)


def clean_comment(comment: str) -> str:
    """The text of a comment without its delimiters."""
    lines = [_CLOSE.sub("", _OPEN.sub("", line)) for line in comment.splitlines()]
    return "\n".join(line.rstrip() for line in lines).strip()[:_DOC].rstrip()


def clean_docstring(literal: str) -> str:
    """The text of a docstring without quotes and indentation."""
    text = _QUOTES_AFTER.sub("", _QUOTES_BEFORE.sub("", literal))
    return "\n".join(line.strip() for line in text.splitlines()).strip()[:_DOC].rstrip()
