"""The anchor of a file: its opening comment or docstring, then its top-level signatures. It holds no path."""

from __future__ import annotations

from collections.abc import Iterable

from gitindex.model.rows import ExtractedSymbol

_DOC_FRACTION = 0.5  # of the size, for the opening comment


def compose_anchor(opening: str, symbols: Iterable[ExtractedSymbol], size: int) -> str:
    """At most `size` characters; empty when the file has neither an opening comment nor definitions."""
    lines = [opening[: int(size * _DOC_FRACTION)].rstrip()] if opening else []
    remaining = size - sum(map(len, lines))
    for symbol in symbols:
        if symbol.parent >= 0:
            continue
        line = symbol.signature or symbol.name
        remaining -= len(line) + 1
        if remaining < 0:
            break
        lines.append(line)
    return "\n".join(lines)[:size]
