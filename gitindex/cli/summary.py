"""Appends Markdown to the summary of a CI job, and sets the outputs of its step (RE-9).

The runner names both files; without them nothing is written. A file that cannot be written is ignored: the log says
the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gitindex.config import Environment, job_summary_path


def append(environment: Environment, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Add a table to the job summary."""
    _append(environment.summary, _markdown_table(title, rows))


def append_failure(command: str, message: str, hint: str | None) -> None:
    """Add why a command failed. Takes no Environment: reading that may be what failed."""
    rows = [("error", message), *([("next", hint)] if hint else [])]
    _append(job_summary_path(), _markdown_table(f"gitindex {command} failed", rows))


def set_outputs(environment: Environment, values: Mapping[str, str]) -> None:
    """Outputs of the step: single lines."""
    _append(environment.outputs, "".join(f"{name}={value}\n" for name, value in values.items()))


def _markdown_table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"### {title}", "", "| | |", "|---|---|"]
    lines += [f"| {_escape_cell(name)} | {_escape_cell(value)} |" for name, value in rows]
    return "\n".join(lines) + "\n\n"


def _append(file: str, text: str) -> None:
    if not file:
        return
    try:
        with Path(file).open("a", encoding="utf-8", errors="replace") as handle:
            handle.write(text)
    except OSError:
        return


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
