"""CS-2: git's index is believed about deletions only when it is what git wrote."""

from __future__ import annotations

import os

import pytest

from gitindex.errors import GitDamaged
from gitindex.git.indexfile import has_valid_checksum
from gitindex.git.repo import Repo, discover
from gitindex.git.status import list_dirty
from gitindex.git.tracked import list_tracked
from tests.support.gitrepo import GitRepo


def found(repo: GitRepo) -> Repo:
    known = discover(repo.root)
    assert known is not None
    return known


@pytest.fixture(params=["sha1", "sha256"])
def many(request: pytest.FixtureRequest, repo: GitRepo) -> GitRepo:
    made = GitRepo.create(repo.root / request.param, f"--object-format={request.param}")
    made.commit("one", **{f"d/file{number}.py": f"N = {number}\n" for number in range(50)})
    return made


def test_what_git_wrote_is_whole(many: GitRepo) -> None:
    here = found(many)
    assert has_valid_checksum(here)
    (many.root / "d/file7.py").unlink()
    assert [(entry.path, entry.kind) for entry in list_dirty(here)] == [(b"d/file7.py", "deleted")]
    os.unlink(many.root / ".git/index")
    assert has_valid_checksum(here)


def test_an_index_without_a_checksum_is_whole(many: GitRepo) -> None:
    """`index.skipHash` of newer git writes zeros."""
    path = many.root / ".git/index"
    size = 32 if many.root.name == "sha256" else 20
    path.write_bytes(path.read_bytes()[:-size] + bytes(size))
    assert has_valid_checksum(found(many))


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_cut_index_deletes_nothing(many: GitRepo, share: float) -> None:
    """To git it is an index without its later entries."""
    path = many.root / ".git/index"
    os.truncate(path, int(path.stat().st_size * share))
    here = found(many)
    assert not has_valid_checksum(here)
    with pytest.raises(GitDamaged, match=r"checksum|index") as caught:
        list_dirty(here)
    assert caught.value.detail["kind"] == "index"
    assert list_tracked(here) == {f"d/file{number}.py".encode() for number in range(50)}
