"""Names of the parameters of a function, read from its signature."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_OPEN, _CLOSE = "([{", ")]}"
# The name stands first in each item. Elsewhere a type (C, Java, C#, PHP) or a label (Swift) does.
_NAME_FIRST = frozenset({"python", "javascript", "typescript", "tsx", "go", "rust", "kotlin", "scala"})


@lru_cache(maxsize=4096)
def read_parameters(signature: str, name: str, language: str) -> frozenset[str]:
    """Parameters of the function `name`; none for a language whose items do not begin with the name."""
    if language not in _NAME_FIRST:
        return frozenset()
    head = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", signature)
    start = signature.find("(", head.end()) if head else -1
    if start < 0:
        return frozenset()
    items = [re.split(r"[:=]", item)[0].strip() for item in _split_list(signature[start + 1 :])]
    if language == "go" and not any(" " in item for item in items):
        return frozenset()  # types alone: the parameters have no names
    words = (_WORD.search(item) for item in items)
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
