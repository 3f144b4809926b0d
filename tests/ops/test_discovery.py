"""What is asked about a repository before a codebase is opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitindex.errors import GitDamaged, GitError, GitMissing, NotARepository
from gitindex.gitdir import folder
from gitindex.hooks import journal
from gitindex.ops import discovery
from gitindex.ops.codebase import open_codebase
from tests.support import harness
from tests.support.gitrepo import GitRepo


def test_a_repository_is_found_from_inside(repo: GitRepo):
    inner = repo.root / "a" / "b"
    inner.mkdir(parents=True)
    assert discovery.require_repository(inner).root == repo.root.resolve()
    assert discovery.find_worktree_root(inner) == repo.root.resolve()


def test_a_directory_without_git_has_none(tmp_path: Path):
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(NotARepository) as raised:
        discovery.require_repository(plain)
    assert raised.value.hint == "git init"
    assert discovery.find_worktree_root(plain) is None
    assert discovery.find_journal_directory(plain) is None


def test_a_bare_repository_has_no_working_tree(tmp_path: Path):
    bare = GitRepo.create(tmp_path / "bare.git", "--bare")
    assert discovery.require_repository(bare.root).bare
    assert discovery.find_worktree_root(bare.root) is None


def test_what_was_begun_opens_the_codebase(repo: GitRepo):
    with discovery.begin_discovery(repo.root) as pending:
        found = open_codebase(repo.root, harness.codebase(repo.root).environment, pending=pending)
    assert found.root == repo.root.resolve()


@pytest.mark.parametrize(
    ("error", "unusable"), [(GitMissing("x"), True), (GitDamaged("x"), True), (GitError("x"), False)]
)
def test_only_a_missing_or_damaged_git_is_replaced_by_a_scan(error: GitError, unusable: bool):
    assert discovery.is_git_unusable(error) is unusable


def test_the_journal_of_this_user_is_found_without_git(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    git_dir = repo.root / ".git"
    inner = repo.root / "a"
    inner.mkdir()
    assert discovery.find_journal_directory(inner) is None
    folder.common_folder_path(git_dir).mkdir()
    folder.user_folder_path(git_dir).mkdir(mode=0o1700)
    os.chmod(folder.user_folder_path(git_dir), folder.MODE)
    journal.begin(git_dir)
    monkeypatch.setenv("PATH", "")
    assert discovery.find_journal_directory(inner) == git_dir
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert discovery.find_journal_directory(inner) is None
