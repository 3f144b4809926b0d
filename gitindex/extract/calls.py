"""Call sites: the last name of what is called, and what stands before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitindex.extract.native import scan
from gitindex.extract.source_text import SourceText
from gitindex.model.rows import ExtractedCall

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_RECEIVER = 80
_MAX_RECEIVER_BYTES = 320
_CALLEE_TAIL_BYTES = 400  # bytes looked at for the callee's name
_SIMPLE = re.compile(rb"[\w$]+")
# A name at the end of an expression, perhaps with type arguments behind it.
_CALLEE = re.compile(rb"([\w$~\x80-\xff][\w$\x80-\xff-]*[?!]?)\s*(?:::)?(?:<[^()]*>|\[[^()]*\])?\s*$")
_LINK = b" \t\r\n.:?&>-\\"  # what may stand between a receiver and its member

Owner = tuple[int, int, int]  # start, end, symbol index; outer before inner
_Site = tuple[int, int, int]  # callee start, callee end, receiver start


def find_calls(
    source: SourceText, plain: list[Node], invocations: Sequence[Node], owners: tuple[Owner, ...]
) -> tuple[ExtractedCall, ...]:
    """`plain` nodes end with the callee's name; `invocations` hold it in a field."""
    data = source.data
    invocation_sites = list(_find_invocation_sites(invocations))
    if scan is not None:
        rows = scan.calls(
            data,
            plain,
            invocation_sites,
            owners,
            _CALLEE_TAIL_BYTES,
            _match_callee,
            _MAX_RECEIVER,
            _MAX_RECEIVER_BYTES,
            _fold_whitespace,
        )
        return tuple(map(ExtractedCall._make, rows))
    sites = sorted([*_find_plain_sites(data, plain), *invocation_sites])
    lines, columns = source.locate([site[0] for site in sites])
    return tuple(
        ExtractedCall(
            data[start:end].decode("utf-8", "replace"),
            _clean_receiver(data[receiver_start:start]),
            line,
            column,
            owner,
        )
        for (start, end, receiver_start), line, column, owner in zip(
            sites, lines, columns, _find_owners(sites, owners), strict=True
        )
    )


def _find_plain_sites(data: bytes, nodes: Sequence[Node]) -> Iterator[_Site]:
    for node in nodes:
        begin = node.start_byte
        end = node.end_byte
        low = begin if end - begin < _CALLEE_TAIL_BYTES else end - _CALLEE_TAIL_BYTES
        tail = data[low:end]
        name = tail[tail.rfind(b".") + 1 :]
        if _SIMPLE.fullmatch(name):
            yield end - len(name), end, begin
        elif span := _match_callee(tail):
            yield low + span[0], low + span[1], begin


def _match_callee(tail: bytes) -> tuple[int, int] | None:
    match = _CALLEE.search(tail)
    return match.span(1) if match else None


def _find_invocation_sites(nodes: Sequence[Node]) -> Iterator[_Site]:
    for node in nodes:
        name = node.child_by_field_name("name") or node.child_by_field_name("method")
        if name is not None:
            yield name.start_byte, name.end_byte, node.start_byte


def _clean_receiver(before: bytes) -> str:
    return _fold_whitespace(before.rstrip(_LINK)[:_MAX_RECEIVER_BYTES]) if before else ""


def _fold_whitespace(expression: bytes) -> str:
    text = expression.decode("utf-8", "replace")
    if not text.isidentifier():
        text = " ".join(text.split())
    return text[:_MAX_RECEIVER]


def _find_owners(sites: Sequence[_Site], owners: Sequence[Owner]) -> Iterator[int]:
    """The innermost definition around each site; both ascend, so one sweep does."""
    stack: list[Owner] = []
    remaining = iter(owners)
    upcoming = next(remaining, None)
    for position, _, _ in sites:
        while upcoming is not None and upcoming[0] <= position:
            stack.append(upcoming)
            upcoming = next(remaining, None)
        while stack and stack[-1][1] <= position:
            stack.pop()
        yield stack[-1][2] if stack else -1
