"""Discovery, HEAD and history (ST-1, CS-4, HK-3)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gitindex.errors import GitError
from gitindex.git.repo import (
    Head,
    Repo,
    ancestors,
    discover,
    distance,
    find_unfinished,
    read_head,
    resolve,
    root_commits,
)
from tests.support.gitrepo import GitRepo


def found(where: Path) -> Repo:
    repo = discover(where)
    assert repo is not None
    return repo


def test_discovers_the_top_level_from_anywhere_inside(repo: GitRepo, tmp_path: Path) -> None:
    """ST-1: one canonical root, by realpath."""
    file = repo.write("d/e/f", "x")
    (tmp_path / "alias").symlink_to(repo.root)
    git = repo.root / ".git"
    for where in (repo.root, file, file.parent, tmp_path / "alias/d", git, git / "refs"):
        assert found(where) == Repo(repo.root.resolve(), git, git, "sha1", False, False)


def test_outside_git_there_is_none(tmp_path: Path, repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(repo.root / ".git"))
    assert discover(tmp_path) is None


def test_knows_bare_shallow_worktree_and_algorithm(repo: GitRepo, tmp_path: Path) -> None:
    repo.commit("one", a="1")
    repo.commit("two", a="2")
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    repo.git("clone", "-q", "--depth=1", f"file://{repo.root}", str(tmp_path / "shallow"))
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    bare, shallow, linked = (found(tmp_path / name) for name in ("bare.git", "shallow", "linked"))
    assert (bare.bare, bare.root) == (True, bare.git_dir)
    assert (shallow.shallow, shallow.bare) == (True, False)
    assert linked.root == (tmp_path / "linked").resolve()
    assert linked.git_dir == repo.root / ".git/worktrees/linked"
    assert linked.common_dir == repo.root / ".git"
    assert found(GitRepo.create(tmp_path / "s256", "--object-format=sha256").root).algorithm == "sha256"


def test_odd_directory_names(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"new\nline \xff")
    made = GitRepo.create(odd)
    assert found(made.root).root == odd.resolve()
    assert read_head(found(made.root)).branch == "main"


def test_a_repository_of_somebody_else_names_the_remedy(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real git, told by its own test switch that another user owns everything."""
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    with pytest.raises(GitError, match="another user") as caught:
        discover(repo.root)
    assert str(caught.value.hint).startswith("git config --global --add safe.directory")


def test_head_of_unborn_branch_detached_and_worktree(repo: GitRepo, tmp_path: Path) -> None:
    here = found(repo.root)
    assert read_head(here) == Head(None, None, "main")
    assert root_commits(here) == ()
    first = repo.commit("one", a="1")
    tree = repo.git("rev-parse", "HEAD^{tree}")
    assert read_head(here) == Head(first, tree, "main")
    repo.git("switch", "-q", "-c", "feature/x")
    assert read_head(here).branch == "feature/x"
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    assert read_head(found(tmp_path / "linked")) == Head(first, tree, "side")
    repo.git("checkout", "-q", "--detach")
    assert read_head(here) == Head(first, tree, None)
    repo.git("switch", "-q", "--orphan", "fresh")
    assert read_head(here) == Head(None, None, "fresh")


@pytest.mark.parametrize("damage", ["garbage\n", "0" * 39 + "1\n"])
def test_a_broken_head_is_not_an_empty_repository(repo: GitRepo, damage: str) -> None:
    """CS-5: taking it for unborn would delete every file from the index."""
    repo.commit("one", a="1")
    (repo.root / ".git/refs/heads/main").write_text(damage)
    with pytest.raises(GitError):
        read_head(found(repo.root))


def test_resolves_revisions_and_nothing_else(repo: GitRepo) -> None:
    first = repo.commit("one", a="1")
    repo.git("tag", "-a", "-m", "t", "v1")
    second = repo.commit("two", a="2")
    here = found(repo.root)
    assert (
        resolve(here, "v1").commit
        == resolve(here, "HEAD~1").commit
        == resolve(here, first[:10]).commit
        == first
    )
    assert resolve(here, "main") == Head(second, repo.git("rev-parse", "HEAD^{tree}"), None)
    for bad in ("nope", "", "HEAD\nHEAD", "HEAD~1..HEAD", "--all", "HEAD^{tree}", "0" * 40):
        with pytest.raises(GitError, match="unknown revision"):
            resolve(here, bad)


def test_busy_names_the_unfinished_operation(repo: GitRepo) -> None:
    """HK-3: seen by stat alone, for real conflicts and for a lock."""
    base = repo.commit("base", a="1\n")
    repo.git("switch", "-q", "-c", "side")
    side = repo.commit("side", a="2\n")
    repo.git("switch", "-q", "main")
    repo.commit("main", a="3\n")
    here = found(repo.root)
    assert find_unfinished(here) is None
    for start, sign, stop in (
        (("merge", "side"), "MERGE_HEAD", ("merge", "--abort")),
        (("cherry-pick", side), "CHERRY_PICK_HEAD", ("cherry-pick", "--abort")),
        (("revert", "--no-edit", base), "REVERT_HEAD", ("revert", "--abort")),
        (("rebase", "side"), "rebase-merge", ("rebase", "--abort")),
        (("rebase", "--apply", "side"), "rebase-apply", ("rebase", "--abort")),
        (("bisect", "start"), "BISECT_LOG", ("bisect", "reset")),
    ):
        repo.git(*start, check=False)
        assert find_unfinished(here) == sign
        repo.git(*stop)
        assert find_unfinished(here) is None
    (repo.root / ".git/index.lock").touch()
    assert find_unfinished(here) == "index.lock"


def test_history_questions(repo: GitRepo, tmp_path: Path) -> None:
    """RE-3: ancestors nearest first, the distance to one, and None for strangers."""
    commits = [repo.commit(f"c{n}", a=str(n)) for n in range(5)]
    repo.git("switch", "-q", "-c", "side", commits[1])
    side = repo.commit("side", b="x")
    here = found(repo.root)
    assert ancestors(here, commits[4], 3) == commits[:1:-1]
    assert ancestors(here, commits[4], 100) == commits[::-1]
    assert distance(here, commits[1], commits[4]) == 3
    assert distance(here, commits[4], commits[4]) == 0
    assert distance(here, side, commits[4]) is None
    assert distance(here, "0" * 40, commits[4]) is None
    assert root_commits(here) == (commits[0],)
    repo.git("clone", "-q", "--depth=2", "--branch=main", f"file://{repo.root}", str(tmp_path / "shallow"))
    shallow = found(tmp_path / "shallow")
    assert root_commits(shallow) == ()
    assert ancestors(shallow, commits[4], 100) == commits[:2:-1]
    assert distance(shallow, commits[0], commits[4]) is None
