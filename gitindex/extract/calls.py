"""Call sites: the callee (the last name of what is called) and the receiver (the expression before it)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitindex.extract.native import scan
from gitindex.extract.nesting import SymbolRange
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


class _CallSite(NamedTuple):
    """Byte offsets; the compiled scanner reads the three by position."""

    start: int  # of the callee's name
    end: int
    receiver_start: int


def find_calls(
    source: SourceText, plain: list[Node], invocations: Sequence[Node], owners: tuple[SymbolRange, ...]
) -> tuple[ExtractedCall, ...]:
    """`plain` nodes end with the callee's name; `invocations` hold it in a field."""
    data = source.data
    invocation_sites = list(_find_invocation_sites(invocations))
    if scan is not None:
        limits = (
            _MAX_RECEIVER,
            _MAX_RECEIVER_BYTES,
        )  # characters of a receiver that are kept, bytes that are read
        rows = scan.calls(
            data,
            plain,
            invocation_sites,
            owners,
            _CALLEE_TAIL_BYTES,
            _match_callee,
            *limits,
            _fold_whitespace,
        )
        return tuple(map(ExtractedCall._make, rows))
    sites = sorted([*_find_plain_sites(data, plain), *invocation_sites])
    lines, columns = source.locate([site.start for site in sites])
    return tuple(
        ExtractedCall(
            data[site.start : site.end].decode("utf-8", "replace"),
            _clean_receiver(data[site.receiver_start : site.start]),
            line,
            column,
            owner,
        )
        for site, line, column, owner in zip(sites, lines, columns, _find_owners(sites, owners), strict=True)
    )


def _find_plain_sites(data: bytes, nodes: Sequence[Node]) -> Iterator[_CallSite]:
    for node in nodes:
        begin = node.start_byte
        end = node.end_byte
        low = begin if end - begin < _CALLEE_TAIL_BYTES else end - _CALLEE_TAIL_BYTES
        tail = data[low:end]
        name = tail[tail.rfind(b".") + 1 :]
        if _SIMPLE.fullmatch(name):
            yield _CallSite(end - len(name), end, begin)
        elif span := _match_callee(tail):
            start, stop = span
            yield _CallSite(low + start, low + stop, begin)


def _match_callee(tail: bytes) -> tuple[int, int] | None:
    match = _CALLEE.search(tail)
    return match.span(1) if match else None


def _find_invocation_sites(nodes: Sequence[Node]) -> Iterator[_CallSite]:
    for node in nodes:
        name = node.child_by_field_name("name") or node.child_by_field_name("method")
        if name is not None:
            yield _CallSite(name.start_byte, name.end_byte, node.start_byte)


def _clean_receiver(before: bytes) -> str:
    return _fold_whitespace(before.rstrip(_LINK)[:_MAX_RECEIVER_BYTES]) if before else ""


def _fold_whitespace(expression: bytes) -> str:
    text = expression.decode("utf-8", "replace")
    if not text.isidentifier():
        text = " ".join(text.split())
    return text[:_MAX_RECEIVER]


def _find_owners(sites: Sequence[_CallSite], owners: Sequence[SymbolRange]) -> Iterator[int]:
    """The symbol of the innermost definition around each site; both ascend, so one sweep suffices."""
    stack: list[SymbolRange] = []
    remaining = iter(owners)
    upcoming = next(remaining, None)
    for site in sites:
        while upcoming is not None and upcoming.start <= site.start:
            stack.append(upcoming)
            upcoming = next(remaining, None)
        while stack and stack[-1].end <= site.start:
            stack.pop()
        yield stack[-1].symbol if stack else -1
