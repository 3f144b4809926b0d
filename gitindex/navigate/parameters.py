"""Names of the parameters of a function, read from its signature."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_OPEN, _CLOSE = "([{", ")]}"
# The name stands before its type. Elsewhere (C, Java, C#) a type comes first and the name last.
_NAME_FIRST = frozenset(
    {"python", "javascript", "typescript", "tsx", "go", "rust", "kotlin", "scala", "swift", "php"}
)


@lru_cache(maxsize=4096)
def read_parameters(signature: str, name: str, language: str) -> frozenset[str]:
    """Parameters of the function `name`; none for a language whose signatures are written type first."""
    if language not in _NAME_FIRST:
        return frozenset()
    head = signature.find(name)
    start = signature.find("(", head + len(name)) if head >= 0 else -1
    if start < 0:
        return frozenset()
    words = (_WORD.search(part) for part in _split_list(signature[start + 1 :]))
    return frozenset(word[0] for word in words if word)


def _split_list(text: str) -> list[str]:
    """Items of a bracketed list up to its closing bracket; commas inside further brackets do not count."""
    parts, depth, start = [], 0, 0
    for offset, sign in enumerate(text):
        if sign in _OPEN:
            depth += 1
        elif sign in _CLOSE:
            depth -= 1
        if depth < 0 or (depth == 0 and sign == ","):
            parts.append(text[start:offset])
            start = offset + 1
        if depth < 0:
            return parts
    return [*parts, text[start:]]
