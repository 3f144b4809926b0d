"""C-1, CS-2, CS-4, CF-5: which failures of git let the files be scanned in its place, and which never do."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from gitindex import errors
from gitindex.errors import GitDamaged, GitError, GitMissing
from gitindex.git.failure import NEXT_STEPS, Damage, allows_file_scan, damage_error, find_damage
from gitindex.git.loose import LooseObjects
from gitindex.git.repo import discover
from gitindex.git.run import run
from tests.support.gitrepo import GitRepo

ID = b"a6f1d25c019fe7aaad0412888d9d6c7933656817"
DAMAGE = {
    b"fatal: bad object HEAD": Damage.OBJECT,
    b"error: bad tree object HEAD": Damage.OBJECT,
    b"fatal: not a tree object": Damage.OBJECT,
    b"error: Could not read " + ID: Damage.OBJECT,
    b"fatal: unable to read tree " + ID: Damage.OBJECT,
    b"fatal: loose object %s (stored in .git/objects/a6/f1) is corrupt" % ID: Damage.OBJECT,
    b"fatal: packed object %s (stored in .git/objects/pack/p.pack) is corrupt" % ID: Damage.OBJECT,
    b"error: object file .git/objects/a6/f1 is empty": Damage.OBJECT,
    b"error: unable to unpack %s header" % ID: Damage.OBJECT,
    b"error: packfile .git/objects/pack/p.pack does not match index": Damage.OBJECT,
    b"error: index file .git/objects/pack/p.idx is too small": Damage.OBJECT,
    b"fatal: index file corrupt": Damage.INDEX,
    b"fatal: .git/index: index file smaller than expected": Damage.INDEX,
    b"error: bad index version 99\nfatal: index file corrupt": Damage.INDEX,
    b"error: bad signature 0x78787878\nfatal: index file corrupt": Damage.INDEX,
    b"fatal: your current branch appears to be broken": Damage.HEAD,
    b"error: unable to resolve reference 'refs/heads/main': reference broken": Damage.HEAD,
    b"fatal: bad config line 1 in file .git/config": Damage.CONFIG,
    b"fatal: Expected git repo version <= 1, found 9": Damage.FORMAT,
    b"fatal: unknown repository extension found:\n\tnext": Damage.FORMAT,
}
NO_DAMAGE = {
    "ownership": b"fatal: detected dubious ownership in repository at '/r'\nfatal: bad object HEAD",
    "older ownership": b"fatal: unsafe repository ('/r' is owned by someone else)",
    "bare": b"fatal: cannot use bare repository '/r' (safe.bareRepository is 'explicit')",
    "permission": b"fatal: .git/index: index file open failed: Permission denied\nfatal: index file corrupt",
    "policy": b"error: unable to read tree %s: Operation not permitted" % ID,
    "promised": b"fatal: could not fetch %s from promisor remote\nfatal: bad object HEAD" % ID,
    "offline": b"fatal: lazy fetching disabled; some objects may not be available\nfatal: bad object HEAD",
    "transport": b"fatal: transport 'file' not allowed\nfatal: not a tree object",
    "lock": b"fatal: Unable to create '/r/.git/index.lock': File exists.\nfatal: index file corrupt",
    "memory": b"fatal: Out of memory, malloc failed\nfatal: index file corrupt",
    "descriptors": b"error: unable to open x: Too many open files\nfatal: bad object HEAD",
    "unknown": b"fatal: something that nobody has seen yet",
    "usage": b"error: unknown option `frobnicate'",
    "nothing": b"",
}


@pytest.mark.parametrize(("said", "kind"), DAMAGE.items())
def test_what_git_says_of_its_own_data_is_damage(said: bytes, kind: Damage) -> None:
    assert find_damage(said) is kind
    assert find_damage(b"warning: something else\n" + said) is kind


@pytest.mark.parametrize("name", NO_DAMAGE)
def test_a_refusal_a_lock_and_the_unknown_are_no_damage(name: str) -> None:
    """CF-5, CS-4: also where git complains about data as a consequence."""
    assert find_damage(NO_DAMAGE[name]) is None


@pytest.mark.parametrize("kind", Damage)
def test_every_kind_of_damage_lets_scan_and_has_a_next_step(kind: Damage) -> None:
    error = damage_error(kind, "damaged")
    assert allows_file_scan(error)
    assert error.hint == NEXT_STEPS[kind]
    assert error.detail["kind"] == kind


def test_of_all_errors_only_these_two_let_scan() -> None:
    """A closed list: an error that somebody adds is a refusal until it is listed here."""

    def below(kind: type[GitError]) -> set[type[GitError]]:
        return {kind}.union(*(below(child) for child in kind.__subclasses__()))

    known = {kind for kind in below(GitError) if kind.__module__ == errors.__name__}
    assert {kind for kind in known if allows_file_scan(kind("said"))} == {GitMissing, GitDamaged}
    assert {errors.TransientGitError, errors.TreeTooLarge, errors.MissingObjects} <= known


def test_a_missing_program_is_named(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitMissing):
        run(repo.root, "status")


def test_a_git_that_may_not_be_started_is_no_missing_one(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody decided that it shall not run: that is a refusal."""
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o644)
    monkeypatch.setenv("PATH", str(program.parent))
    with pytest.raises(GitError) as caught:
        run(repo.root, "status")
    assert not allows_file_scan(caught.value)


@pytest.mark.parametrize(
    ("number", "lets"), [(errno.EACCES, False), (errno.EMFILE, False), (errno.ELOOP, True)]
)
def test_an_object_that_may_not_be_opened_is_no_damaged_one(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, number: int, lets: bool
) -> None:
    """The system's refusal is made here: whoever runs the tests as root may open everything."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    blob = repo.git("rev-parse", "HEAD:a.py")
    objects = LooseObjects(repo.root / ".git")

    def refuse(*_: object) -> int:
        raise OSError(number, "refused")

    monkeypatch.setattr("gitindex.git.loose.os.open", refuse)
    with pytest.raises(GitError) as caught:
        objects.read(blob, 1 << 20)
    assert allows_file_scan(caught.value) is lets


def test_git_is_not_asked_about_a_repository_that_it_did_not_find(repo: GitRepo) -> None:
    """CF-5: what was found by hand stays unasked, though git would answer by now."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    head = repo.root / ".git/HEAD"
    text = head.read_text()
    head.unlink()
    found = discover(repo.root)
    assert found is not None
    assert found.fault is not None
    head.write_text(text)
    with pytest.raises(GitDamaged, match="for a repository"):
        run(found, "rev-parse", "HEAD")


def test_a_directory_that_is_merely_called_git_makes_no_repository(tmp_path: Path) -> None:
    """ST-1: else a stray directory in a home would make the whole home one codebase."""
    (tmp_path / "outer/.git").mkdir(parents=True)
    (tmp_path / "outer/project").mkdir()
    assert discover(tmp_path / "outer/project") is None
    (tmp_path / "outer/.git").rmdir()
    (tmp_path / "outer/.git").write_text("a note\n")
    with pytest.raises(GitError, match="gitfile"):
        discover(tmp_path / "outer")


def test_a_repository_out_of_reach_is_not_damaged(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """ST-1: git was told not to look so far up; what is there is whole."""
    (repo.root / "inside").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repo.root))
    assert discover(repo.root / "inside") is None
