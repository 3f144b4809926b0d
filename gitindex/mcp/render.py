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


class ToolText(NamedTuple):
    text: str
    failed: bool  # an error of the tool; a shut gate is an answer, and nothing to retry at once


def render_answer(data: dict[str, Any]) -> ToolText:
    text = json_text(data)
    if len(text) > MAX_CHARS:
        error_answer = {
            "status": "error",
            "error": {"code": "too_long", "message": "the answer is too long", "hint": None},
        }
        return ToolText(json.dumps(error_answer), failed=True)
    return ToolText(text, failed=data.get("status") == "error")


def render_error(problem: GitindexError) -> ToolText:
    gate_answer = problem.detail.get("envelope") if isinstance(problem, Gated) else None
    if isinstance(gate_answer, dict):
        return render_answer(gate_answer)
    hint = None if problem.hint is None else escape_line(problem.hint, MAX_MESSAGE)
    return _render_failure(problem.code, problem.message, hint)


def render_defect(problem: Exception) -> ToolText:
    return _render_failure("defect", f"{type(problem).__name__}: {problem}", None)


def _render_failure(code: str, message: str, hint: str | None) -> ToolText:
    failure = {"code": code, "message": escape_line(message, MAX_MESSAGE), "hint": hint}
    return ToolText(json_text({"status": "error", "error": failure}), failed=True)
