"""The job summary of a CI run: Markdown appended to the file the runner names (RE-9)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitindex.config import Environment


def append(environment: Environment, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Add a table; nothing outside CI. A summary that cannot be written is not worth failing for."""
    if not environment.summary:
        return
    lines = [f"### {title}", "", "| | |", "|---|---|"]
    lines += [f"| {_cell(name)} | {_cell(value)} |" for name, value in rows]
    try:
        with Path(environment.summary).open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n\n")
    except OSError:
        return


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
