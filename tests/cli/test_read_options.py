"""How gated reads are rendered: failures, what a limit left out, the line about freshness, coverage and trust."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitindex.cli.read_options import render_answer, render_comments, render_left_out, render_not_answered
from gitindex.ops.answers.answer_types import Miss, NotAnswered, SnapshotAnswer
from gitindex.ops.answers.gated_read import ReadOptions
from gitindex.ops.answers.structural_answers import outline
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def answer(repo: GitRepo) -> SnapshotAnswer:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return outline(harness.codebase(repo.root), "a.py", ReadOptions())


def test_an_answer_ends_with_its_truth_line(answer: SnapshotAnswer):
    rendered = render_answer(answer, "the text")
    assert rendered.text == f"the text\n\n{answer.basis.truth.summary_line()}"
    assert (rendered.data, rendered.exit_code) == (answer.to_json(), 0)


def test_a_file_that_is_not_there_fails_with_suggestions(answer: SnapshotAnswer):
    missing = NotAnswered("not_found", answer.basis, "no such file", suggestions=("b.py", "c.py"))
    rendered = render_not_answered(missing)
    assert rendered.exit_code == 1
    assert rendered.text.startswith("no such file\ndid you mean: b.py, c.py\n\n")


@pytest.mark.parametrize(("path", "code"), [("", 0), ("a.py", 1)])
def test_nothing_has_the_name_is_an_answer(answer: SnapshotAnswer, path: str, code: int):
    """A miss fails only when it names a place that does not exist."""
    rendered = render_answer(replace(answer, status="not_found"), "", miss=Miss("nothing", path=path))
    assert rendered.exit_code == code


def test_a_diagram_stays_valid(answer: SnapshotAnswer):
    basis = replace(answer.basis, stale=True, sync_skipped="another\nwriter")
    lines = render_comments(basis, "%%")
    assert len(lines) == 3
    assert all(line.startswith("%% ") and "\n" not in line for line in lines)
    assert lines[1] == "%% another writer"


def test_what_was_left_out_names_the_limit_that_cut(answer: SnapshotAnswer):
    assert render_left_out(answer.basis, (0, "references")) == []
    assert render_left_out(answer.basis, (1200, "references"), (0, "candidates"), (2, "x")) == [
        "",
        "not shown: 1,200 references, 2 x; raise --limit",
    ]
    cut = replace(answer.basis, left_out={"references": 3})
    assert "max_answer_chars" in render_left_out(cut, (3, "references"))[1]
