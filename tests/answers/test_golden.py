"""ST-6, QU-3: every command and tool answers as recorded, key for key; keys are spelled one way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitindex.mcp.tool_schemas import BY_NAME
from tests.answers import golden_answers

# Names that the source documents fix: gate answers, notes of a call graph.
FIXED = {
    "symbolId", "startLine", "detailHash", "notesTruncated", "totalNoteCount", "returnedNoteCount",
    "codebaseRoot", "requestedPath", "retryAfterMs", "progressPct", "lastUpdated",
}  # fmt: skip
# Under these, keys are data.
OPEN = {"skipped", "languages", "text_only", "skipped_files", "text_only_files"}


def test_answers_are_as_recorded(tmp_path: Path) -> None:
    """When the change is meant: raise the version that `tests/versions` names, record again, and read the difference."""
    answers, golden = golden_answers.measure(tmp_path), golden_answers.read_golden()
    assert sorted(answers) == sorted(golden), f"run `{golden_answers.RECORD}`"
    for name, answer in answers.items():
        assert answer == golden[name], (
            f"{name} differs from its golden file; if that is meant, run `{golden_answers.RECORD}`"
        )


def test_every_tool_has_a_golden_answer() -> None:
    assert {tool for tool, _ in golden_answers.TOOLS.values()} == set(BY_NAME)


def test_keys_are_snake_case() -> None:
    for name, answer in golden_answers.read_golden().items():
        odd = {key for key in keys(answer) if not re.fullmatch(r"[a-z][a-z0-9_]*", key)} - FIXED
        assert odd == set(), name
    for tool in BY_NAME.values():
        odd = {key for key in tool.properties if not re.fullmatch(r"[a-z_]+", key)}
        assert odd <= {"noteLimit"}, tool.name


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from keys(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            if key not in OPEN:
                yield from keys(item)
