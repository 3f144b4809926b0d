"""Refuses to parse bracket nesting beyond MAX_DEPTH (EL-1). Pure, and the same on every machine.

Queries take quadratic time on trees thousands of levels deep. Such a file is indexed as text, without its syntax.
"""

from __future__ import annotations

MAX_DEPTH = 1000
_OPENERS = b"([{"
_NOT_OPENERS = bytes(sorted(set(range(256)) - set(_OPENERS)))
_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"()[]{}")))
_STEP = {byte: 1 if byte in _OPENERS else -1 for byte in b"()[]{}"}


def is_too_deep(data: bytes, max_depth: int = MAX_DEPTH) -> bool:
    """Brackets in strings and comments count too: no file that people write comes near the limit."""
    if len(data.translate(None, _NOT_OPENERS)) <= max_depth:
        return False
    depth = 0
    for byte in data.translate(None, _NOT_BRACKETS):
        depth = max(0, depth + _STEP[byte])
        if depth > max_depth:
            return True
    return False
