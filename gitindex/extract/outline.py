"""Definitions nested by their ranges: symbols with qualified names and parents.

`line` and `column` of a symbol are those of its name, as references count them; the byte range is the whole
definition's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gitindex.extract.definitions import Definition
from gitindex.extract.source import Source
from gitindex.model.rows import Symbol

_CLASSES = frozenset({"class", "interface", "struct", "enum", "trait"})
_CALLABLE = frozenset({"function", "method"})


class Outline(NamedTuple):
    """Symbols, and what chunks, calls and the interface need beyond them."""

    symbols: tuple[Symbol, ...] = ()
    extents: tuple[tuple[int, int], ...] = ()  # 0-based (first, last) rows with leads; outer before inner
    owners: tuple[tuple[int, int, int], ...] = ()  # start, end, symbol index; outer before inner
    visible: tuple[int, ...] = ()  # indices of symbols that other files can see


class _Frame(NamedTuple):
    end: int
    qualified: str
    symbol: int  # index, -1 at top level
    member: bool  # functions in it are methods
    local: bool  # nothing in it is visible to other files


_TOP = _Frame(1 << 62, "", -1, member=False, local=False)


def outline(source: Source, definitions: Sequence[Definition]) -> Outline:
    """`definitions` come outer before inner."""
    if not definitions:
        return Outline()
    names = _positions(source, [item.at for item in definitions])
    ends = _positions(source, [item.end for item in definitions])
    symbols: list[Symbol] = []
    owners: list[tuple[int, int, int]] = []
    visible: list[int] = []
    stack = [_TOP]
    for item, (line, column), (end_line, end_column) in zip(definitions, names, ends, strict=True):
        while stack[-1].end <= item.start:
            stack.pop()
        around = stack[-1]
        if not item.kind:
            stack.append(_scope(item, around))
            continue
        kind = "method" if item.kind == "function" and around.member else item.kind
        qualified = _qualified(item, around)
        index = len(symbols)
        symbols.append(
            Symbol(
                item.name,
                qualified,
                kind,
                line,
                column,
                end_line,
                end_column,
                item.start + source.shift,
                item.end + source.shift,
                item.signature,
                item.doc,
                around.symbol,
            )
        )
        owners.append((item.start, item.end, index))
        if item.visible and not around.local:
            visible.append(index)
        local = around.local or not item.visible or kind in _CALLABLE
        stack.append(_Frame(item.end, qualified, index, kind in _CLASSES, local))
    rows = source.rows(max(item.start, item.end - 1) for item in definitions)
    extents = tuple((item.lead, row) for item, row in zip(definitions, rows, strict=True))
    return Outline(tuple(symbols), extents, tuple(owners), tuple(visible))


def _positions(source: Source, offsets: list[int]) -> list[tuple[int, int]]:
    return list(zip(*source.locate(offsets), strict=True))


def _scope(item: Definition, around: _Frame) -> _Frame:
    qualified = ".".join(filter(None, (around.qualified, item.name)))
    return _Frame(item.end, qualified, around.symbol, member=True, local=around.local)


def _qualified(item: Definition, around: _Frame) -> str:
    owner = item.owner
    if around.qualified and (owner == around.qualified or around.qualified.endswith(f".{owner}")):
        owner = ""
    return ".".join(filter(None, (around.qualified, owner, item.name)))
