"""Every answer has a size budget and says what it left out (QU-4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

_SPARE = 200  # for the words that say what was left out


def fit(answer: dict[str, Any], budget: int, lists: Sequence[str]) -> dict[str, Any]:
    """Shorten the named lists, the last one first, until the answer fits. Says so in `truncated` and `left_out`."""
    left_out: dict[str, int] = {}
    for name in reversed(lists):
        over = size(answer) - (budget - _SPARE)
        if over <= 0:
            break
        whole = answer.get(name)
        if isinstance(whole, list) and whole:
            kept = _prefix(whole, over)
            left_out[name] = len(whole) - len(kept)
            answer = {**answer, name: kept}
    if not left_out:
        return answer
    return {**answer, "truncated": True, "left_out": left_out}


def fit_text(text: str, budget: int) -> tuple[str, int]:
    """Whole lines of a text that fit, and how many lines were left out."""
    lines = text.split("\n")
    kept: list[str] = []
    used = 0
    for line in lines:
        used += len(json.dumps(line, ensure_ascii=False))
        if used > budget and kept:
            break
        kept.append(line)
    if len(kept) == 1 and len(kept[0]) > budget:
        kept = [kept[0][:budget]]
    return "\n".join(kept), len(lines) - len(kept)


def size(answer: object) -> int:
    return len(json.dumps(answer, ensure_ascii=False))


def _prefix(items: list[Any], over: int) -> list[Any]:
    """Drop items from the end until `over` characters are gone."""
    kept = len(items)
    while kept and over > 0:
        kept -= 1
        over -= size(items[kept]) + 2
    return items[:kept]
