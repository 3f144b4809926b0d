"""`.git` entries, read without git (CF-5)."""

from __future__ import annotations

from pathlib import Path

from gitindex.git.gitentry import (
    RepositoryEntry,
    find_common_dir,
    find_entry_folders,
    find_repository,
    is_named_by_entry,
)
from tests.support.gitrepo import GitRepo


def test_the_nearest_entry_counts(repo: GitRepo):
    inner = repo.root / "a" / "b"
    inner.mkdir(parents=True)
    assert find_repository(inner) == RepositoryEntry(repo.root, repo.root / ".git")
    nested = GitRepo.create(repo.root / "a")
    assert find_repository(inner) == RepositoryEntry(nested.root, nested.root / ".git")
    assert list(find_entry_folders(inner))[:2] == [nested.root, repo.root]
    assert is_named_by_entry(inner, repo.root / ".git")
    assert not is_named_by_entry(inner, repo.root)


def test_one_part_may_be_lost_and_two_may_not(repo: GitRepo):
    (repo.root / ".git" / "HEAD").unlink()
    assert find_repository(repo.root) is not None
    (repo.root / ".git" / "refs").rename(repo.root / "refs")
    assert find_repository(repo.root) is None


def test_a_file_names_its_git_directory(tmp_path: Path):
    (tmp_path / ".git").write_text("gitdir: ../elsewhere\n")
    assert find_repository(tmp_path) == RepositoryEntry(tmp_path, tmp_path.parent / "elsewhere")
    (tmp_path / ".git").write_bytes(b"gitdir: a\0b")
    assert find_repository(tmp_path) is None


def test_a_linked_worktree_shares_a_directory(repo: GitRepo):
    repo.commit("one")
    repo.git("worktree", "add", "-q", "../linked")
    entry = find_repository((repo.root / "../linked").resolve())
    assert entry is not None
    assert entry.git_dir.parent == repo.root / ".git" / "worktrees"
    assert find_common_dir(entry.git_dir) == repo.root / ".git"
    assert find_common_dir(repo.root / ".git") == repo.root / ".git"
