"""Call sites: the last name of what is called, and what stands before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitindex.extract.native import scan
from gitindex.extract.source_text import Source
from gitindex.model.rows import ExtractedCall

if TYPE_CHECKING:
    from tree_sitter import Node

_RECEIVER = 80
_RECEIVER_BYTES = 320
_TAIL = 400  # bytes looked at for the callee's name
_SIMPLE = re.compile(rb"[\w$]+")
# A name at the end of an expression, perhaps with type arguments behind it.
_CALLEE = re.compile(rb"([\w$~\x80-\xff][\w$\x80-\xff-]*[?!]?)\s*(?:::)?(?:<[^()]*>|\[[^()]*\])?\s*$")
_LINK = b" \t\r\n.:?&>-\\"  # what may stand between a receiver and its member

Owner = tuple[int, int, int]  # start, end, symbol index; outer before inner
_Site = tuple[int, int, int]  # callee start, callee end, receiver start


def calls(
    source: Source, plain: list[Node], invocations: Sequence[Node], owners: tuple[Owner, ...]
) -> tuple[ExtractedCall, ...]:
    """`plain` nodes end with the callee's name; `invocations` hold it in a field."""
    data = source.data
    named = list(_invocation_sites(invocations))
    if scan is not None:
        found = scan.calls(data, plain, named, owners, _TAIL, _callee, _RECEIVER, _RECEIVER_BYTES, _folded)
        return tuple(map(ExtractedCall._make, found))
    sites = sorted([*_plain_sites(data, plain), *named])
    lines, columns = source.locate([site[0] for site in sites])
    return tuple(
        ExtractedCall(data[at:end].decode("utf-8", "replace"), _receiver(data[begin:at]), line, column, owner)
        for (at, end, begin), line, column, owner in zip(
            sites, lines, columns, _owner_of(sites, owners), strict=True
        )
    )


def _plain_sites(data: bytes, nodes: Sequence[Node]) -> Iterator[_Site]:
    for node in nodes:
        begin = node.start_byte
        end = node.end_byte
        low = begin if end - begin < _TAIL else end - _TAIL
        tail = data[low:end]
        name = tail[tail.rfind(b".") + 1 :]
        if _SIMPLE.fullmatch(name):
            yield end - len(name), end, begin
        elif place := _callee(tail):
            yield low + place[0], low + place[1], begin


def _callee(tail: bytes) -> tuple[int, int] | None:
    match = _CALLEE.search(tail)
    return match.span(1) if match else None


def _invocation_sites(nodes: Sequence[Node]) -> Iterator[_Site]:
    for node in nodes:
        name = node.child_by_field_name("name") or node.child_by_field_name("method")
        if name is not None:
            yield name.start_byte, name.end_byte, node.start_byte


def _receiver(before: bytes) -> str:
    return _folded(before.rstrip(_LINK)[:_RECEIVER_BYTES]) if before else ""


def _folded(written: bytes) -> str:
    text = written.decode("utf-8", "replace")
    if not text.isidentifier():
        text = " ".join(text.split())
    return text[:_RECEIVER]


def _owner_of(sites: Sequence[_Site], owners: Sequence[Owner]) -> Iterator[int]:
    """The innermost definition around each site; both ascend, so one sweep does."""
    stack: list[Owner] = []
    waiting = iter(owners)
    coming = next(waiting, None)
    for at, _, _ in sites:
        while coming is not None and coming[0] <= at:
            stack.append(coming)
            coming = next(waiting, None)
        while stack and stack[-1][1] <= at:
            stack.pop()
        yield stack[-1][2] if stack else -1
