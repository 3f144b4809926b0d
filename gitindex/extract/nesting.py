"""Definitions nested by their ranges: symbols with qualified names and parents.

`line` and `column` of a symbol are those of its name, as references count them; the byte range is the whole
definition's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gitindex.extract.definitions import ParsedDefinition
from gitindex.extract.source_text import SourceText
from gitindex.model.rows import ExtractedSymbol

_CLASSES = frozenset({"class", "interface", "struct", "enum", "trait"})
_CALLABLE = frozenset({"function", "method"})


class SymbolRange(NamedTuple):
    """Where a definition starts and ends, in bytes; the compiled scanner reads the three by position."""

    start: int
    end: int
    symbol: int  # index into the symbols


class Outline(NamedTuple):
    """Symbols, and what chunks, calls and the interface need beyond them."""

    symbols: tuple[ExtractedSymbol, ...] = ()
    extents: tuple[tuple[int, int], ...] = ()  # 0-based (first, last) rows with leads; outer before inner
    owners: tuple[SymbolRange, ...] = ()  # outer before inner
    visible: tuple[int, ...] = ()  # indices of symbols that other files can see


class _Frame(NamedTuple):
    """What encloses a definition."""

    end: int
    scope: str  # its qualified name
    parent: int  # its index into the symbols, -1 at top level
    in_class: bool  # functions in it are methods
    is_local: bool  # nothing in it is visible to other files


_TOP = _Frame(1 << 62, "", -1, in_class=False, is_local=False)


def build_outline(source: SourceText, definitions: Sequence[ParsedDefinition]) -> Outline:
    """`definitions` come outer before inner."""
    if not definitions:
        return Outline()
    shift = source.shift
    symbols: list[ExtractedSymbol] = []
    owners: list[SymbolRange] = []
    visible: list[int] = []
    stack = [_TOP]
    for item, line, column, end_line, end_column in zip(
        definitions,
        *source.locate([item.name_start for item in definitions]),
        *source.locate([item.end for item in definitions]),
        strict=True,
    ):
        while stack[-1].end <= item.start:
            stack.pop()
        frame = stack[-1]
        if not item.kind:  # a mere scope
            scope = ".".join(filter(None, (frame.scope, item.name)))
            stack.append(_Frame(item.end, scope, frame.parent, in_class=True, is_local=frame.is_local))
            continue
        kind = "method" if frame.in_class and item.kind == "function" else item.kind
        qualified = _qualify(frame.scope, item.owner, item.name)
        index = len(symbols)
        symbols.append(
            ExtractedSymbol(
                name=item.name,
                qualified_name=qualified,
                kind=kind,
                line=line,
                column=column,
                end_line=end_line,
                end_column=end_column,
                byte_start=item.start + shift,
                byte_end=item.end + shift,
                signature=item.signature,
                doc=item.doc,
                parent=frame.parent,
            )
        )
        owners.append(SymbolRange(item.start, item.end, index))
        if item.visible and not frame.is_local:
            visible.append(index)
        hides_inner = frame.is_local or not item.visible or kind in _CALLABLE
        stack.append(_Frame(item.end, qualified, index, kind in _CLASSES, hides_inner))
    rows = source.rows(max(item.start, item.end - 1) for item in definitions)
    extents = tuple((item.lead_row, row) for item, row in zip(definitions, rows, strict=True))
    return Outline(tuple(symbols), extents, tuple(owners), tuple(visible))


def _qualify(scope: str, owner: str, name: str) -> str:
    """`owner` is the scope that the name itself spells; it may repeat the end of `scope`."""
    if not owner:
        return f"{scope}.{name}" if scope else name
    if scope and (owner == scope or scope.endswith(f".{owner}")):
        owner = ""
    return ".".join(filter(None, (scope, owner, name)))
