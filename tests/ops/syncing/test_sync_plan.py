"""`ops.syncing.sync_plan`: what makes a new snapshot of the same files (CS-5, C-1)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.model.manifest import GitFailure, GitState
from gitindex.ops.syncing.sync_plan import SyncOptions, has_moved, is_commit_only
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase

HERE = GitState(head_sha="a" * 40)
NO_GIT = GitFailure("git_not_installed", "", "git is not installed", "install git")
NO_INDEX = GitFailure("git_damaged", "index", "the index is damaged", "git status")


@pytest.mark.parametrize(
    ("now", "moved"),
    [
        (HERE, False),
        (replace(HERE, branch="other", dirty=True), False),
        (replace(HERE, head_sha="b" * 40), True),
        (replace(HERE, failure=NO_GIT), True),
    ],
    ids=["same", "only the working tree", "another commit", "git fails since"],
)
def test_a_commit_or_a_failure_moves(now: GitState, moved: bool):
    """CS-5: `indexed_commit` and the warning about git must be true."""
    assert has_moved(HERE, now) is moved
    assert has_moved(now, HERE) is moved


def test_another_failure_moves_another_wording_does_not():
    """C-1: messages quote paths and may differ from call to call."""
    failing = replace(HERE, failure=NO_GIT)
    assert has_moved(failing, replace(HERE, failure=NO_INDEX))
    assert not has_moved(failing, replace(HERE, failure=replace(NO_GIT, message="no git here")))


@pytest.mark.parametrize(
    ("in_git", "clean_only", "asked", "expected"),
    [
        (True, False, False, False),
        (True, True, False, True),
        (True, False, True, True),
        (False, True, False, False),
        (False, False, False, False),
    ],
)
def test_the_working_tree_is_left_out_where_that_means_something(
    repo: GitRepo, tmp_path: Path, in_git: bool, clean_only: bool, asked: bool, expected: bool
):
    """CF-1: without git nothing is committed, so `clean_only` leaves nothing out."""
    folder = repo.root if in_git else tmp_path / "plain"
    folder.mkdir(exist_ok=True)
    (folder / ".gitindex.toml").write_text(f"[index]\nclean_only = {str(clean_only).lower()}\n")
    assert is_commit_only(codebase(folder), SyncOptions(commit_only=asked)) is expected
