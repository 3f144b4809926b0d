"""The anchor of a file: what it says about itself first, then its top-level signatures. No path in it."""

from __future__ import annotations

from collections.abc import Iterable

from gitindex.model.rows import ExtractedSymbol

_DOC_FRACTION = 0.5  # of the size, for the opening words


def compose_anchor(opening: str, symbols: Iterable[ExtractedSymbol], size: int) -> str:
    """At most `size` characters; empty when the file has neither opening words nor definitions."""
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
