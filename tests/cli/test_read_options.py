"""How gated reads are rendered: failures, what a limit left out, the line about freshness, coverage and trust."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from gitindex.cli.read_options import render_answer, render_comments, render_left_out, truth_line
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def answer(repo: GitRepo) -> dict[str, Any]:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return harness.cli("outline", "a.py", "--json", "--path", str(repo.root)).json


def test_an_answer_ends_with_its_truth_line(answer: dict[str, Any]):
    rendered = render_answer(answer, "the text")
    assert rendered.text == f"the text\n\n{truth_line(answer)}"
    assert rendered.exit_code == 0


@pytest.mark.parametrize(("empty_is_fine", "code"), [(False, 1), (True, 0)])
def test_not_found_fails_unless_nothing_is_an_answer(answer: dict[str, Any], empty_is_fine: bool, code: int):
    missing = {**answer, "status": "not_found", "message": "no such file", "suggestions": ["b.py", "c.py"]}
    rendered = render_answer(missing, "", empty_is_fine=empty_is_fine)
    assert rendered.exit_code == code
    assert rendered.text.startswith("no such file\ndid you mean: b.py, c.py\n\n")


def test_a_diagram_stays_valid(answer: dict[str, Any]):
    lines = render_comments({**answer, "stale": True, "sync_skipped": "another\nwriter"}, "%%")
    assert len(lines) == 3
    assert all(line.startswith("%% ") and "\n" not in line for line in lines)
    assert lines[1] == "%% another writer"


def test_what_was_left_out_names_the_limit_that_cut():
    assert render_left_out({}, (0, "references")) == []
    assert render_left_out({}, (1200, "references"), (0, "candidates"), (2, "x")) == [
        "",
        "not shown: 1,200 references, 2 x; raise --limit",
    ]
    assert "max_answer_chars" in render_left_out({"left_out": 3}, (3, "references"))[1]


def test_nothing_of_the_answer_is_changed(answer: dict[str, Any]):
    before = repr(answer)
    assert asdict(render_answer(answer, "text"))["data"] == answer
    assert repr(answer) == before
