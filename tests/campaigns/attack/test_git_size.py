"""EL-8, CF-5: deep trees, trees that hold themselves many times over, and ignore files without end."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from gitindex.errors import TreeTooLarge
from gitindex.git.objects import Objects
from gitindex.git.objects_cli import CliObjects
from gitindex.git.objects_pygit2 import open_pygit2
from gitindex.git.repo import Repo, discover
from gitindex.userconfig import UserConfig
from tests.support import harness
from tests.support.gitrepo import GitRepo

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def make_tree(repo: GitRepo, *entries: tuple[str, str, str]) -> str:
    """A tree of (mode, id, name)."""
    lines = "".join(
        f"{mode} {'tree' if mode == '040000' else 'blob'} {blob}\t{name}\0" for mode, blob, name in entries
    )
    command = ["git", "-C", str(repo.root), "mktree", "-z"]
    return (
        subprocess.run(command, input=lines.encode(), capture_output=True, check=True).stdout.decode().strip()
    )


def commit_tree(repo: GitRepo, tree: str) -> None:
    repo.git("update-ref", "refs/heads/main", repo.git("commit-tree", tree, "-m", "bomb"))


def blob(repo: GitRepo, text: str) -> str:
    command = ["git", "-C", str(repo.root), "hash-object", "-w", "--stdin"]
    return (
        subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout.decode().strip()
    )


def deep(repo: GitRepo, levels: int, name: str = "d") -> str:
    tree = make_tree(repo, ("100644", blob(repo, "def deep(): pass\n"), "a.py"))
    for _ in range(levels):
        tree = make_tree(repo, ("040000", tree, name))
    return tree


def bomb(repo: GitRepo, levels: int, *, files: bool) -> str:
    """Ten entries a level, all the same: 10 to the power of `levels`."""
    tree = EMPTY
    if files:
        tree = make_tree(repo, *(("100644", blob(repo, "x = 1\n"), f"{n}.py") for n in range(10)))
    else:
        repo.git("hash-object", "-w", "-t", "tree", "/dev/null")
    for _ in range(levels):
        tree = make_tree(repo, *(("040000", tree, f"d{n}") for n in range(10)))
    return tree


def opened(repo: GitRepo, **user: int) -> Repo:
    found = discover(repo.root, user=UserConfig(**user))
    assert found is not None
    return found


def reader(kind: str, repo: Repo) -> Objects:
    if kind == "git":
        return CliObjects(repo)
    found = open_pygit2(repo)
    assert found is not None
    return found


READERS = pytest.mark.parametrize("kind", ["git", "libgit2"])


def test_a_path_of_1500_directories_is_indexed(repo: GitRepo) -> None:
    """EL-1, EL-8: deeper than Python calls, with ignore rules and without a working tree file."""
    repo.write(".gitindexignore", "*.log\n/nothing/\n")
    rules = blob(repo, "*.log\n/nothing/\n")
    below = deep(repo, 1499)
    commit_tree(repo, make_tree(repo, ("100644", rules, ".gitindexignore"), ("040000", below, "d")))
    ran = harness.cli("sync", "--commit-only", "--json", "--path", str(repo.root))
    assert ran.code == 0, ran.out + ran.err
    with harness.view(repo.root) as view:
        record = view.record("d/" * 1500 + "a.py")
    assert record is not None
    assert not record.skip


@READERS
def test_a_path_that_no_file_system_takes_is_named(repo: GitRepo, kind: str) -> None:
    """EL-8."""
    repo.commit("one", a="1")
    tree = deep(repo, 30, "d" * 200)
    with reader(kind, opened(repo)) as objects:
        with pytest.raises(TreeTooLarge, match="4,096 bytes"):
            list(objects.list_entries(tree))
        with pytest.raises(TreeTooLarge, match="4,096 bytes"):
            objects.diff(repo.git("rev-parse", "HEAD^{tree}"), tree)


@READERS
@pytest.mark.parametrize("files", [True, False])
def test_a_tree_of_a_billion_entries_ends_at_the_limit(repo: GitRepo, kind: str, files: bool) -> None:
    """EL-8: counted while it is walked, directories too; in seconds."""
    repo.commit("one", a="1")
    tree = bomb(repo, 8, files=files)
    started = time.monotonic()
    with reader(kind, opened(repo, max_files=20_000)) as objects:
        with pytest.raises(TreeTooLarge, match="20,000") as caught:
            for _ in objects.list_entries(tree):
                pass
        with pytest.raises(TreeTooLarge):
            objects.diff(repo.git("rev-parse", "HEAD^{tree}"), tree)
    assert caught.value.hint is not None
    assert "max_files" in caught.value.hint
    assert time.monotonic() - started < 20


def test_a_bomb_is_one_named_error(repo: GitRepo, home: Path) -> None:
    """EL-8: of a sync; the user may raise the limit, a repository may not."""
    (home / ".gitindex").mkdir()
    (home / ".gitindex/config.toml").write_text("[index]\nmax_files = 5000\n")
    repo.commit("one", a="1")
    commit_tree(repo, bomb(repo, 3, files=True))
    ran = harness.cli("sync", "--commit-only", "--json", "--path", str(repo.root))
    assert (ran.code, ran.json["error"]["code"]) == (1, "tree_too_large")
    ran = harness.cli("sync", "--json", "--path", str(repo.root))
    assert (ran.code, ran.json["error"]["code"]) == (1, "tree_too_large")
    (home / ".gitindex/config.toml").write_text("[index]\nmax_files = 20000\n")
    raised = harness.codebase(repo.root).repo
    assert raised is not None
    with CliObjects(raised) as objects:
        assert sum(1 for _ in objects.list_entries("HEAD^{tree}")) == 10_000


def test_a_git_that_says_too_much_is_stopped(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """EL-8: an answer that is collected is bounded in bytes."""
    from gitindex.git import run as door

    repo.commit("one", a="1" * 5000)
    monkeypatch.setattr(door, "MAX_OUTPUT", 4000)
    with pytest.raises(TreeTooLarge, match="4,000 bytes"):
        door.run(repo.root, "cat-file", "blob", "HEAD:a")


@pytest.mark.parametrize("text", ["x" * 300_000, "*a[b]?c\n" * 6_000, "name\n" * 6_000])
def test_an_ignore_file_without_end_is_refused_by_name(repo: GitRepo, text: str) -> None:
    """EL-1: sync and status say so at once; rules are never left out in silence."""
    repo.commit("one", **{"a.py": "def a(): pass\n"})
    harness.index(repo.root)
    repo.write(".gitindexignore", text)
    started = time.monotonic()
    ran = harness.cli("sync", "--json", "--path", str(repo.root))
    assert (ran.code, ran.json["error"]["code"]) == (2, "bad_config")
    assert ".gitindexignore" in ran.json["error"]["message"]
    (problem,) = harness.cli("status", "--json", "--path", str(repo.root)).json["problems"]
    assert problem["next"]
    assert time.monotonic() - started < 5


def test_an_ignore_file_of_a_directory_without_git_is_refused_too(tmp_path: Path) -> None:
    """EL-1."""
    plain = tmp_path / "plain"
    (plain / "sub").mkdir(parents=True)
    (plain / "a.py").write_text("def a(): pass\n")
    (plain / "sub/.gitignore").write_text("*x[y]\n" * 6_000)
    ran = harness.cli("sync", "--json", "--path", str(plain))
    assert (ran.code, ran.json["error"]["code"]) == (2, "bad_config")
    assert "sub/.gitignore" in ran.json["error"]["message"]
