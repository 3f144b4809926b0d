"""Reads untrusted TOML within limits, so that no text makes the parser, or a message about it, fail.

tomllib recurses for every nested array, and so do the functions that print nested values in messages. TOML's numbers
have 64 bits, tomllib's any size, and Python refuses to print the largest.
"""

from __future__ import annotations

import re
from typing import Any

MAX_DEPTH = 32
MAX_KEY = 200
MAX_BITS = 256
# Strings and comments match as a whole: brackets and dots in them do not nest.
_TOKENS = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}.=,\n]', re.DOTALL
)


def loads(text: str) -> dict[str, Any]:
    """Raises ValueError."""
    import tomllib  # late: most codebases have no configuration (UI-3)

    _check_nesting(text)
    tables = tomllib.loads(text)
    _check_values(tables)
    return tables


def _check_nesting(text: str) -> None:
    """Before parsing: tomllib takes quadratic time on a key of many parts."""
    depth = dots = 0
    for token in _TOKENS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        dots = dots + 1 if token[0] == "." else 0 if token[0] in ("=", ",", "\n") else dots
        if depth > MAX_DEPTH or dots > MAX_DEPTH:
            line = text.count("\n", 0, token.start()) + 1
            raise ValueError(f"line {line}: nested deeper than {MAX_DEPTH} levels")


def _check_values(tables: dict[str, Any]) -> None:
    """After parsing: headers, keys and arrays nest within each other, and their depths add up."""
    pending: list[tuple[Any, int]] = [(tables, 0)]
    while pending:
        value, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            if any(len(key) > MAX_KEY for key in value):
                raise ValueError(f"a key is longer than {MAX_KEY} characters")
            pending.extend((item, depth + 1) for item in value.values())
        elif isinstance(value, list):
            pending.extend((item, depth + 1) for item in value)
        elif isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise ValueError("a number has too many digits")
