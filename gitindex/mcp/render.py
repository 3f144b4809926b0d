"""An answer or an error as the text of a tool result: always one JSON object, never over the limit."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from gitindex.errors import Gated, GitindexError

# A last resort: answers keep to their own budget long before this.
MAX_CHARS = 1_000_000


class Rendered(NamedTuple):
    text: str
    failed: bool  # an error of the tool; a shut gate is an answer, and nothing to retry at once


def answer(data: dict[str, Any]) -> Rendered:
    text = json.dumps(data, ensure_ascii=False)
    if len(text) > MAX_CHARS:
        too_long = {
            "status": "error",
            "error": {"code": "too_long", "message": "the answer is too long", "hint": None},
        }
        return Rendered(json.dumps(too_long), failed=True)
    return Rendered(text, failed=data.get("status") == "error")


def error(problem: GitindexError) -> Rendered:
    envelope = problem.detail.get("envelope") if isinstance(problem, Gated) else None
    if isinstance(envelope, dict):
        return answer(envelope)
    told = {"code": problem.code, "message": problem.message, "hint": problem.hint}
    return Rendered(json.dumps({"status": "error", "error": told}, ensure_ascii=False), failed=True)


def defect(problem: Exception) -> Rendered:
    told = {"code": "defect", "message": f"{type(problem).__name__}: {problem}", "hint": None}
    return Rendered(json.dumps({"status": "error", "error": told}, ensure_ascii=False), failed=True)
