"""CF-5, EL-4: a repository's file opens no repository inside it, and a name spelled twice leads nowhere else."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path

import pytest

from gitindex.config import load_environment
from gitindex.source.nested import NestedRepos
from gitindex.source.source_file import SUBMODULE, make_source_file
from tests.campaigns.attack.canary import Canary
from tests.support import harness
from tests.support.gitrepo import GitRepo

ASK = "[index]\nsubmodules = true\n"
NFC = unicodedata.normalize("NFC", "sube\u0301")
NFD = unicodedata.normalize("NFD", NFC)


@pytest.fixture
def hostile(tmp_path: Path, canary: Canary) -> Path:
    """A clone: gitlink NFD, tracked bare repository NFC whose promised commit is not there and which names its ssh."""
    author = GitRepo.create(tmp_path / "author")
    author.commit("one", **{"a.py": "def a(): pass\n", ".gitindex.toml": ASK})
    bare = author.root / NFC
    bare.mkdir()
    for folder in ("objects", "refs/heads"):
        (bare / folder).mkdir(parents=True)
        (bare / folder / "keep").write_text("")
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "config").write_text(
        "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
        f"\tsshCommand = {canary.program}\n"
        "[extensions]\n\tpartialClone = origin\n"
        '[remote "origin"]\n\turl = ssh://localhost/x\n\tpromisor = true\n'
    )
    author.git("config", "core.precomposeUnicode", "false")
    author.git("add", "-A", "-f")
    author.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{NFD}")
    author.git("commit", "-q", "-m", "innocent")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(author.root), str(clone)], check=True, env=_quiet())
    canary.record.unlink(missing_ok=True)
    return clone


def _quiet() -> dict[str, str]:
    return {**os.environ, "GIT_TERMINAL_PROMPT": "0"}


def _allow(text: str) -> None:
    home = load_environment().home
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(text)


def test_the_attack_is_real(hostile: Path, canary: Canary) -> None:
    canary.proven(["git", "cat-file", "-p", "1" * 40], hostile / NFC)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_clone_and_a_sync_start_nothing(hostile: Path, canary: Canary, allowed: bool) -> None:
    """CF-5: neither by default nor where the user lets repositories ask for their submodules."""
    if allowed:
        _allow(ASK)
    for command in (["sync", "--allow-degraded"], ["status"], ["sync", "--full", "--allow-degraded"]):
        harness.cli(*command, "--path", str(hostile))
    assert not canary.started


def test_the_key_of_a_path_is_not_where_it_is(hostile: Path, canary: Canary) -> None:
    """CF-5: the raw path alone is looked at, and only a `.git` entry makes it a repository."""
    codebase = harness.codebase(hostile)
    assert codebase.repo is not None
    link = make_source_file(NFD.encode(), SUBMODULE, "1" * 40, from_worktree=False)
    assert link.key == NFC
    assert NestedRepos(codebase.repo, bulk=False).expand({link.key: link}) == {link.key: link}
    assert not canary.started


def test_a_twin_of_the_name_is_another_directory(repo: GitRepo) -> None:
    """EL-2, CF-5: a real repository under the other spelling is not the one that the gitlink names."""
    commit = GitRepo.create(repo.root / NFC).commit("one", **{"b.py": "def b(): pass\n"})
    found = harness.codebase(repo.root).repo
    assert found is not None
    link = make_source_file(NFD.encode(), SUBMODULE, commit, from_worktree=False)
    if not (repo.root / NFD).exists():  # a file system that tells the spellings apart
        assert NestedRepos(found, bulk=False).expand({link.key: link}) == {link.key: link}
    entered = make_source_file(NFC.encode(), SUBMODULE, commit, from_worktree=False)
    assert f"{NFC}/b.py" in NestedRepos(found, bulk=False).expand({entered.key: entered})


def test_the_file_of_a_repository_alone_opens_nothing(repo: GitRepo) -> None:
    """EL-4: what it asks for is told in status and health with the next step; the user's word is in the fingerprint."""
    repo.commit("one", **{"a.py": "def a(): pass\n", ".gitindex.toml": ASK})
    GitRepo.create(repo.root / "inner").commit("one", **{"b.py": "def b(): pass\n"})
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        assert view.record("inner/b.py") is None
    for command in ("status", "health"):
        (notice,) = harness.cli(command, "--json", "--path", str(repo.root)).json["notices"]
        assert notice["code"] == "submodules_refused"
        assert str(repo.root) in notice["next"]
        assert notice["message"] in harness.cli(command, "--path", str(repo.root)).out
    before = harness.codebase(repo.root).fingerprint
    _allow(f'[index]\nsubmodule_roots = ["{repo.root}"]\n')
    after = harness.codebase(repo.root)
    assert after.fingerprint != before
    assert not harness.cli("status", "--json", "--path", str(repo.root)).json["notices"]
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        assert view.record("inner/b.py") is not None


def test_a_listed_root_is_entered_without_being_asked(repo: GitRepo) -> None:
    """EL-4."""
    repo.commit("one", **{"a.py": "def a(): pass\n"})
    GitRepo.create(repo.root / "inner").commit("one", **{"b.py": "def b(): pass\n"})
    _allow(f'[index]\nsubmodule_roots = ["{repo.root}"]\n')
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        assert view.record("inner/b.py") is not None


@pytest.mark.parametrize("link", ["entry", "parent"])
def test_no_link_leads_to_an_inner_repository(repo: GitRepo, tmp_path: Path, link: str) -> None:
    """EL-3, CF-5: neither a linked directory nor a linked `.git`."""
    repo.commit("one", **{"a.py": "def a(): pass\n"})
    other = GitRepo.create(tmp_path / "other")
    commit = other.commit("one", **{"secret.py": "def secret(): pass\n"})
    if link == "parent":
        (repo.root / "inner").symlink_to(other.root)
    else:
        (repo.root / "inner").mkdir()
        (repo.root / "inner/.git").symlink_to(other.root / ".git")
    codebase = harness.codebase(repo.root)
    assert codebase.repo is not None
    item = make_source_file(b"inner", SUBMODULE, commit, from_worktree=False)
    assert NestedRepos(codebase.repo, bulk=False).expand({"inner": item}) == {"inner": item}


@pytest.mark.parametrize("way", ["sshCommand", "ssh on PATH"])
def test_a_partial_clone_reaches_for_nothing(
    repo: GitRepo, canary: Canary, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """CF-5: an object that is not there is a named error with the next step; nobody is asked for it."""
    repo.commit("one", **{"a.py": "def a(): pass\n"})
    blob = repo.git("rev-parse", "HEAD:a.py")
    (repo.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    settings = {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": "ssh://localhost/x",
        "remote.origin.promisor": "true",
    }
    for name, value in settings.items():
        repo.git("config", name, value)
    if way == "sshCommand":
        repo.git("config", "core.sshCommand", str(canary.program))
    else:
        ssh = canary.program.with_name("ssh")
        ssh.symlink_to(canary.program)
        monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    canary.proven(["git", "cat-file", "-p", blob], repo.root)
    ran = harness.cli("sync", "--commit-only", "--json", "--path", str(repo.root))
    assert (ran.code, ran.json["error"]["code"]) == (1, "missing_objects")
    assert "lazy_fetch" in ran.json["error"]["hint"]
    assert not canary.started
