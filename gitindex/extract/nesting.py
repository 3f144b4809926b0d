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


class Outline(NamedTuple):
    """Symbols, and what chunks, calls and the interface need beyond them."""

    symbols: tuple[ExtractedSymbol, ...] = ()
    extents: tuple[tuple[int, int], ...] = ()  # 0-based (first, last) rows with leads; outer before inner
    owners: tuple[tuple[int, int, int], ...] = ()  # start, end, symbol index; outer before inner
    visible: tuple[int, ...] = ()  # indices of symbols that other files can see


# What is around a definition: its end, qualified name and symbol index (-1 at top level), whether functions in it are
# methods, and whether nothing in it is visible to other files.
_Frame = tuple[int, str, int, bool, bool]
_TOP: _Frame = (1 << 62, "", -1, False, False)


def build_outline(source: SourceText, definitions: Sequence[ParsedDefinition]) -> Outline:
    """`definitions` come outer before inner."""
    if not definitions:
        return Outline()
    shift = source.shift
    symbols: list[ExtractedSymbol] = []
    owners: list[tuple[int, int, int]] = []
    visible: list[int] = []
    stack = [_TOP]
    for item, line, column, end_line, end_column in zip(
        definitions,
        *source.locate([item.name_start for item in definitions]),
        *source.locate([item.end for item in definitions]),
        strict=True,
    ):
        start, end, kind, name, owner, _, signature, doc, _, is_visible = item
        while stack[-1][0] <= start:
            stack.pop()
        _, scope, parent, in_class, is_local = stack[-1]
        if not kind:
            inner = f"{scope}.{name}" if scope and name else scope or name
            stack.append((end, inner, parent, True, is_local))
            continue
        if in_class and kind == "function":
            kind = "method"
        qualified = _qualify(scope, owner, name)
        index = len(symbols)
        symbols.append(
            ExtractedSymbol(
                name,
                qualified,
                kind,
                line,
                column,
                end_line,
                end_column,
                start + shift,
                end + shift,
                signature,
                doc,
                parent,
            )
        )
        owners.append((start, end, index))
        if is_visible and not is_local:
            visible.append(index)
        hides_inner = is_local or not is_visible or kind in _CALLABLE
        stack.append((end, qualified, index, kind in _CLASSES, hides_inner))
    rows = source.rows(max(item.start, item.end - 1) for item in definitions)
    extents = tuple((item.lead_row, row) for item, row in zip(definitions, rows, strict=True))
    return Outline(tuple(symbols), extents, tuple(owners), tuple(visible))


def _qualify(scope: str, owner: str, name: str) -> str:
    """`owner` is what the name itself spells of its scope."""
    if not owner:
        return f"{scope}.{name}" if scope else name
    if scope and (owner == scope or scope.endswith(f".{owner}")):
        owner = ""
    return ".".join(filter(None, (scope, owner, name)))
