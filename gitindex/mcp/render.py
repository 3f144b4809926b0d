"""An answer or an error as the text of a tool result: always one JSON object, never over the limit.

Messages and hints are gitindex's own voice to whoever reads them, so they are one line of bounded length.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from gitindex.errors import Gated, GitindexError
from gitindex.model.foreign import MAX_MESSAGE, escape_line, json_text

# A last resort: answers keep to their own budget long before this.
MAX_CHARS = 1_000_000


class Rendered(NamedTuple):
    text: str
    failed: bool  # an error of the tool; a shut gate is an answer, and nothing to retry at once


def answer(data: dict[str, Any]) -> Rendered:
    text = json_text(data)
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
    hint = None if problem.hint is None else escape_line(problem.hint, MAX_MESSAGE)
    return _failure(problem.code, problem.message, hint)


def defect(problem: Exception) -> Rendered:
    return _failure("defect", f"{type(problem).__name__}: {problem}", None)


def _failure(code: str, message: str, hint: str | None) -> Rendered:
    told = {"code": code, "message": escape_line(message, MAX_MESSAGE), "hint": hint}
    return Rendered(json_text({"status": "error", "error": told}), failed=True)
