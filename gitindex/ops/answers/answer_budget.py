"""Every answer has a size budget and says what it left out (QU-4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

_RESERVED_CHARS = 200  # for the words that say what was left out


def fit(answer: dict[str, Any], budget: int, lists: Sequence[str]) -> dict[str, Any]:
    """Shorten the named lists, the last one first, until the answer fits. Says so in `truncated` and `left_out`."""
    left_out: dict[str, int] = {}
    for name in reversed(lists):
        excess = json_length(answer) - (budget - _RESERVED_CHARS)
        if excess <= 0:
            break
        items = answer.get(name)
        if isinstance(items, list) and items:
            prefix = _drop_from_end(items, excess)
            left_out[name] = len(items) - len(prefix)
            answer = {**answer, name: prefix}
    if not left_out:
        return answer
    return {**answer, "truncated": True, "left_out": left_out}


def fit_text(text: str, budget: int) -> tuple[str, int]:
    """Whole lines of a text that fit, and how many lines were left out."""
    lines = text.split("\n")
    fitting_lines: list[str] = []
    used = 0
    for line in lines:
        used += len(json.dumps(line, ensure_ascii=False))
        if used > budget and fitting_lines:
            break
        fitting_lines.append(line)
    if len(fitting_lines) == 1 and len(fitting_lines[0]) > budget:
        fitting_lines = [fitting_lines[0][:budget]]
    return "\n".join(fitting_lines), len(lines) - len(fitting_lines)


def json_length(answer: object) -> int:
    return len(json.dumps(answer, ensure_ascii=False))


def _drop_from_end(items: list[Any], excess: int) -> list[Any]:
    """Drop items from the end until `excess` characters are gone."""
    count = len(items)
    while count and excess > 0:
        count -= 1
        excess -= json_length(items[count]) + 2
    return items[:count]
