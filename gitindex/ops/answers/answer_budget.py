"""Every answer has a size budget and says what it left out (QU-4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from gitindex.model.json_answer import read_field, replace_field, to_json
from gitindex.ops.answers.answer_types import SnapshotAnswer

RESERVED_CHARS = 200  # for the counts of what was left out
Answer = TypeVar("Answer", bound=SnapshotAnswer)
Item = TypeVar("Item")


def fit(answer: Answer, budget: int, lists: Sequence[str]) -> Answer:
    """Shorten the named lists, the last one first, until the answer fits. Says so in `truncated` and `left_out`."""
    left_out: dict[str, int] = {}
    for name in reversed(lists):
        excess = len(json.dumps(answer.to_json(), ensure_ascii=False)) - (budget - RESERVED_CHARS)
        if excess <= 0:
            break
        items = read_field(answer, name)
        if items:
            prefix = drop_from_end(items, excess)
            left_out[name] = len(items) - len(prefix)
            answer = replace_field(answer, name, prefix)
    if not left_out:
        return answer
    basis = replace(answer.basis, truncated=True, left_out={**answer.basis.left_out, **left_out})
    return replace(answer, basis=basis)


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


def json_length(value: object) -> int:
    """Characters of a value as JSON."""
    return len(json.dumps(to_json(value), ensure_ascii=False))


def drop_from_end(items: tuple[Item, ...], excess: int) -> tuple[Item, ...]:
    """Drop items from the end until `excess` characters are gone."""
    count = len(items)
    while count and excess > 0:
        count -= 1
        excess -= json_length(items[count]) + 2  # the comma and the space between two items
    return items[:count]
