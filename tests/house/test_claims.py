"""Every statement about speed leads to the row that measured it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.graph import REPOSITORY

PAGE = REPOSITORY / "docs" / "benchmarks" / "README.md"
SPEED = re.compile(r"(?<![\w.-])\d[\d.,]*(?:\s?(?:ms|µs)|\s(?:s|seconds?|minutes?|times))\b")
LINK = re.compile(r"\]\(([^)#]*benchmarks/[^)#]*)(?:#([^)]+))?\)")
# Waits and limits that are chosen, not measured.
CHOSEN = {"docs/hooks.md": ("wait until no hook has fired", "after a pause of")}


def documents() -> list[Path]:
    """What users read; results, past decisions and the list of changes speak of their own time."""
    told = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    past = {"benchmarks", "changes", "adr"}
    return [path for path in told if not past & set(path.relative_to(REPOSITORY).parts)]


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, list items and rows of tables, without code."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return (part for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) ?)", prose) if part.strip())


def claims(path: Path) -> list[str]:
    exempt = CHOSEN.get(path.relative_to(REPOSITORY).as_posix(), ())
    return [
        part
        for part in paragraphs(path.read_text("utf-8"))
        if SPEED.search(re.sub(r"`[^`]*`|\]\([^)]*\)", "", part)) and not any(name in part for name in exempt)
    ]


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_speed_is_linked_to_its_row(path: Path):
    for claim in claims(path):
        assert LINK.search(claim), f"say which row of docs/benchmarks measured this: {claim.strip()}"


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_links_to_rows_lead_somewhere(path: Path):
    page = PAGE.read_text("utf-8")
    waiting = re.search(r"^Not in this run: (.*)\.$", page, re.M)
    absent = set(waiting[1].split(", ")) if waiting else set()
    for target, row in LINK.findall(path.read_text("utf-8")):
        found = (path.parent / target).resolve()
        assert found.exists(), target
        if row and found == PAGE and row.partition("-")[0] not in absent:
            assert f'<a id="{row}"></a>' in page, f"{path.name}: no row {row}"


def test_claims_are_recognised():
    """What counts as a statement about speed, and what does not."""
    for text in ("takes 6 s", "150 to 200 ms per event", "1.7 times what decoding takes", "a query 35 µs"):
        assert SPEED.search(text), text
    for text in ("version 3.11", "256 MiB", "5 files", "sometimes", "the 1990s", "Python 3 sources"):
        assert not SPEED.search(text), text
