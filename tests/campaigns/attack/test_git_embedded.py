"""CF-5: a tracked directory that looks like a repository is data, and no git looks before the gate is open."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gitindex.config import load_environment
from gitindex.errors import Gated, GitError, UsageError
from gitindex.git import environment as door
from gitindex.git.repo import discover
from gitindex.git.run import run
from gitindex.mcp.tools import Tools
from tests.campaigns.attack.canary import Canary, Watched, embedded
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def hostile(tmp_path: Path, canary: Canary) -> Path:
    """A clone of a repository that tracks `fixtures/repo.git`. Returns that directory of the clone."""
    author = GitRepo.create(tmp_path / "author")
    embedded(author, canary)
    author.git("add", "-A", "-f")
    author.commit("innocent", **{"a.py": "def a(): pass\n"})
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(author.root), str(clone)], check=True)
    canary.record.unlink(missing_ok=True)
    return clone / "fixtures/repo.git"


def test_the_attack_is_real(hostile: Path, canary: Canary) -> None:
    canary.proven(["git", "status"], hostile)


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("tool", ["read_file", "search_codebase"])
def test_a_reading_call_with_a_path_inside_starts_nothing(
    hostile: Path, canary: Canary, tool: str, indexed: bool
) -> None:
    """CF-5: the path means the repository around it, also when that is not indexed."""
    outer = hostile.parents[1]
    if indexed:
        harness.index(outer)
    tools = Tools(load_environment(), outer)
    given = {"path": str(hostile / "config"), **({"query": "def"} if tool == "search_codebase" else {})}
    if indexed:
        answer = tools.call(tool, given)
    else:
        with pytest.raises(Gated) as caught:
            tools.call(tool, given)
        answer = caught.value.detail["envelope"]
    assert answer["codebaseRoot"] == str(outer.resolve())
    assert not canary.started


@pytest.mark.parametrize(
    "command", [["sync"], ["status"], ["search", "def"], ["read", "config"], ["map"], ["audit"]]
)
def test_a_command_inside_starts_nothing(hostile: Path, canary: Canary, command: list[str]) -> None:
    """CF-5."""
    ran = harness.cli(*command, "--json", "--path", str(hostile))
    assert ran.code in (0, 1, 2, 3, 4), ran.err
    assert not canary.started


@pytest.mark.parametrize("below", ["", "objects", "refs/heads"])
def test_a_path_inside_means_the_repository_around_it(hostile: Path, below: str) -> None:
    """CF-5, ST-1."""
    found = discover(hostile / below)
    assert found is not None
    assert found.root == hostile.parents[1].resolve()
    assert not found.bare


@pytest.mark.parametrize("settings", ["bare = true", "worktree = ../..", "worktree = ."])
def test_a_git_that_does_not_know_the_setting_is_no_way_in(
    hostile: Path, canary: Canary, monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    """CF-5: before git 2.38 there is no safe.bareRepository; what git finds must be named by a .git entry."""
    monkeypatch.setattr(
        door, "SETTINGS", {k: v for k, v in door.SETTINGS.items() if k != "safe.bareRepository"}
    )
    config = hostile / "config"
    config.write_text(config.read_text().replace("worktree = .", settings))
    found = discover(hostile)
    assert found is not None
    assert (found.root, found.git_dir) == (
        hostile.parents[1].resolve(),
        hostile.parents[1].resolve() / ".git",
    )
    harness.cli("status", "--path", str(hostile))
    assert not canary.started


def test_git_itself_refuses_what_is_not_named(hostile: Path, canary: Canary) -> None:
    """CF-5: the setting holds for every call, not for discovery alone."""
    with pytest.raises(GitError, match=r"safe\.bareRepository"):
        run(hostile, "status")
    assert not canary.started


def test_a_bare_repository_is_used_where_it_is_named(repo: GitRepo, tmp_path: Path) -> None:
    """RE-1: a bare clone can be built from, by its own path and by no path inside it."""
    commit = repo.commit("one", **{"a.py": "def a(): pass\n"})
    bare = tmp_path / "bare.git"
    repo.git("clone", "-q", "--bare", str(repo.root), str(bare))
    found = discover(bare)
    assert found is not None
    assert (found.bare, found.root) == (True, bare.resolve())
    ran = harness.cli("build", "--commit", commit, "--path", str(bare), "--json")
    assert ran.code == 0, ran.err
    with pytest.raises(GitError, match="bare repository"):
        discover(bare / "objects")
    with pytest.raises(UsageError, match="bare repository"):
        harness.codebase(bare)


def test_an_untracked_bare_repository_inside_a_work_tree_can_be_named(repo: GitRepo) -> None:
    """CF-5: only what the repository around tracks is its data."""
    repo.commit("one", a="1")
    bare = repo.root / "mirror.git"
    repo.git("clone", "-q", "--bare", str(repo.root), str(bare))
    found = discover(bare)
    assert found is not None
    assert found.bare


@pytest.mark.parametrize("state", ["not_indexed", "requires_reindex", "no_proof"])
def test_the_gate_is_decided_before_git_looks(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """CF-5, EN-1: no `git status` and no listing of a working tree that is refused anyway."""
    repo.commit("one", **{"a.py": "def a(): pass\n"})
    if state != "not_indexed":
        harness.index(repo.root)
    if state == "requires_reindex":
        repo.write(".gitindex.toml", "[index]\nchunk_chars = 900\n")
    if state == "no_proof":
        monkeypatch.setattr("gitindex.gate._quick_proof", _no_proof)
    watched = Watched(tmp_path / "bin", os.environ["PATH"])
    monkeypatch.setenv("PATH", watched.path)
    tools = Tools(load_environment(), repo.root)
    for tool, given in (
        ("search_codebase", {"query": "def"}),
        ("read_file", {"file": "a.py"}),
        ("repo_map", {}),
        ("find_symbol", {"name": "a"}),
    ):
        with pytest.raises(Gated):
            tools.call(tool, given)
    if state != "no_proof":
        assert harness.cli("search", "def", "--path", str(repo.root)).code == 3
        assert harness.cli("read", "a.py", "--path", str(repo.root)).code == 3
    asked = watched.asked()
    assert asked, "git was asked where the repository is"
    assert not [line for line in asked if " status " in line or "ls-files" in line]


def _no_proof(*_: object) -> object:
    from gitindex.model.proof import Proof, ProofOutcome, ProofReason

    return Proof(ProofOutcome.STALE_LOCAL, ProofReason.MISSING_MARKER_DOC, "taken away", False)
