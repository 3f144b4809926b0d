"""`gitindex status`: what it says about the hooks of a worktree."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.gitdir import folder
from tests.support import harness
from tests.support.gitrepo import GitRepo


def read_background(root: Path) -> object:
    return harness.cli("status", "--json", "--path", str(root)).json["background"]


def test_a_folder_without_git_has_no_background(tmp_path: Path):
    (tmp_path / "a.py").write_text("A = 1\n")
    assert read_background(tmp_path) is None


@pytest.mark.parametrize("indexed", [False, True])
def test_a_repository_without_hooks_has_nothing_pending(repo: GitRepo, indexed: bool):
    """Asking makes no folder of ours in the repository."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    if indexed:
        harness.index(repo.root)
    nothing = {"pending": False, "last_run": None, "problem": None, "obstacle": None}
    assert read_background(repo.root) == nothing
    assert not folder.common_folder_path(repo.root / ".git").exists()
