"""CS-2, EL-8: a damaged object is an error with a name, soon; libgit2 never came back from one that was cut short."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitindex.errors import GitError
from gitindex.git.objects import open_objects
from gitindex.git.repo import discover
from tests.support.gitrepo import GitRepo

TEXT = "def f():\n    return 1\n" * 50


@pytest.fixture
def blob(repo: GitRepo) -> str:
    repo.commit("one", **{"a.py": TEXT})
    return repo.git("rev-parse", "HEAD:a.py").strip()


def loose(repo: GitRepo, object_id: str) -> Path:
    where = repo.root / ".git/objects" / object_id[:2] / object_id[2:]
    where.chmod(0o644)
    return where


@pytest.mark.parametrize("options", [[], ["--commit-only"]])
def test_an_object_that_was_cut_short_is_named_by_a_sync(
    repo: GitRepo, blob: str, tmp_path: Path, options: list[str]
) -> None:
    """In a process of its own: on the way back from libgit2 nothing could be interrupted. The working tree has the same
    bytes; a sync of the commit alone does not look there."""
    where = loose(repo, blob)
    where.write_bytes(where.read_bytes()[:12])
    env = {**os.environ, "GITINDEX_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-P", "-m", "gitindex", "sync", *options, "--path", str(repo.root)]
    ran = subprocess.run(command, env=env, cwd="/", capture_output=True, timeout=60)
    assert ran.returncode == (1 if options else 0)
    assert blob.encode() in (ran.stderr if options else ran.stdout)
    assert b"git fsck" in (ran.stderr if options else ran.stdout)


@pytest.mark.parametrize("bulk", [True, False])
@pytest.mark.parametrize("damage", ["cut", "empty", "garbage", "longer", "another"])
def test_no_damage_passes(repo: GitRepo, blob: str, damage: str, bulk: bool) -> None:
    where = loose(repo, blob)
    whole = where.read_bytes()
    other = loose(repo, repo.git("rev-parse", "HEAD^{tree}").strip()).read_bytes()
    bad = {
        "cut": whole[: len(whole) // 2],
        "empty": b"",
        "garbage": b"x" * 40,
        "longer": whole[:20] * 3,
        "another": other,
    }
    where.write_bytes(bad[damage])
    found = discover(repo.root)
    assert found is not None
    with open_objects(found, bulk=bulk) as objects, pytest.raises(GitError):
        list(objects.read([blob], 1 << 20))


def test_loose_packed_and_borrowed_objects_are_the_same(repo: GitRepo, blob: str, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--shared", str(repo.root), str(tmp_path / "borrower"))
    for root in (repo.root, tmp_path / "borrower"):
        found = discover(root)
        assert found is not None
        with open_objects(found, bulk=True) as objects:
            assert next(iter(objects.read([blob], 1 << 20))).data == TEXT.encode()
            assert next(iter(objects.read([blob], 10))).data is None
    repo.git("gc", "-q")
    found = discover(repo.root)
    assert found is not None
    with open_objects(found, bulk=True) as objects:
        assert next(iter(objects.read([blob], 1 << 20))).data == TEXT.encode()
