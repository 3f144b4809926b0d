"""`search.ripgrep` narrows the files of a scan; what it cannot say is said by nobody."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gitindex.search import ripgrep


def make_program(folder: Path, body: str) -> str:
    """A program in ripgrep's place; ripgrep itself may be missing on this machine."""
    program = folder / "rg"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_matches_are_among_the_paths_asked_for(tmp_path: Path):
    rg = make_program(tmp_path, r"printf './a.py\0./elsewhere.py\0'")
    assert ripgrep.find_matching_files(rg, tmp_path, ["x"], ["a.py", "b.py"], literal=True) == {"a.py"}


@pytest.mark.parametrize(("code", "answer"), [(1, set()), (2, None)])
def test_nothing_is_an_answer_and_a_failure_is_none(tmp_path: Path, code: int, answer: set[str] | None):
    assert (
        ripgrep.find_matching_files(
            make_program(tmp_path, f"exit {code}"), tmp_path, ["x"], ["a"], literal=True
        )
        == answer
    )


def test_no_path_is_taken_for_an_option_and_none_is_lost(tmp_path: Path):
    """Many paths are asked about in several runs."""
    rg = make_program(
        tmp_path, 'while [ "$1" != -- ]; do shift; done; shift; for p; do printf "%s\\0" "$p"; done'
    )
    paths = ["--pre=evil", *(f"{'d' * 200}/{number}.py" for number in range(1200))]
    assert ripgrep.find_matching_files(rg, tmp_path, ["x"], paths, literal=False) == set(paths)


def test_the_program_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    assert ripgrep.find_program() is None
    assert make_program(tmp_path, "") == ripgrep.find_program()
