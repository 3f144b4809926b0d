"""`cli.cmd_status.background_status`: what hooks asked for."""

from __future__ import annotations

from pathlib import Path

from gitindex.cli.cmd_status import background_status
from gitindex.gitdir import folder
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase


def test_a_folder_without_git_has_no_background(tmp_path: Path):
    assert background_status(codebase(tmp_path)) is None


def test_a_repository_without_hooks_has_nothing_pending(repo: GitRepo):
    """Asking makes no folder of ours in the repository."""
    nothing = {"pending": False, "last_run": None, "problem": None, "obstacle": None}
    assert background_status(codebase(repo.root)) == nothing
    assert not folder.common_folder_path(repo.root / ".git").exists()
