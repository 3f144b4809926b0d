"""SE-2: the private checkout holds exactly the commit's regular files, byte for byte, and touches nothing
else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.errors import ExactFactsError
from gitindex.git.objects import open_objects
from gitindex.git.repo import discover, resolve
from gitindex.semantic.checkout import BlobReader, check_out
from tests.support.gitrepo import GitRepo


def open_tree(repo: GitRepo, rev: str = "HEAD"):
    found = discover(repo.root)
    return open_objects(found), resolve(found, rev).tree


def test_bytes_of_the_commit_without_filters_links_or_dirt(repo: GitRepo, tmp_path: Path):
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", "filter.up.smudge", "tr a-z A-Z")
    repo.git("config", "filter.up.clean", "cat")
    repo.write(".gitattributes", "*.up filter=up\n")
    repo.write("a/crlf.txt", b"one\ntwo\n")
    repo.write("b.up", "lower\n")
    run = repo.write("run.sh", "#!/bin/sh\n")
    run.chmod(0o755)
    (repo.root / "link").symlink_to("/etc/passwd")
    commit = repo.commit("first")
    index_before = (repo.root / ".git/index").read_bytes()
    repo.write("b.up", "dirty\n")
    repo.write("untracked.py", "x = 1\n")
    objects, tree = open_tree(repo, commit)
    with objects:
        made = check_out(objects, tree, tmp_path / "co", max_bytes=1000)
        read = BlobReader(made.blobs, objects, 1000)
        assert read("b.up") == b"lower\n"
        assert read("link") is None
        assert read("untracked.py") is None
    assert sorted(made.blobs) == [".gitattributes", "a/crlf.txt", "b.up", "run.sh"]
    assert (made.root / "a/crlf.txt").read_bytes() == b"one\ntwo\n"
    assert (made.root / "b.up").read_bytes() == b"lower\n"
    assert (made.root / "run.sh").stat().st_mode & 0o100
    assert not (made.root / "link").is_symlink()
    assert made.skipped == (("link", "not a regular file"),)
    assert (repo.root / ".git/index").read_bytes() == index_before
    assert (repo.root / "b.up").read_text() == "dirty\n"


def test_too_large_is_skipped_and_named(repo: GitRepo, tmp_path: Path):
    repo.commit(**{"big.py": "x" * 100, "small.py": "y"})
    objects, tree = open_tree(repo)
    with objects:
        made = check_out(objects, tree, tmp_path / "co", max_bytes=50)
    assert made.skipped == (("big.py", "too large"),)
    assert list(made.blobs) == ["small.py"]


def test_the_root_is_canonical(repo: GitRepo, tmp_path: Path):
    """scip-python finds no documents below a symbolic link."""
    repo.commit(**{"a.py": ""})
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    objects, tree = open_tree(repo)
    with objects:
        assert (
            check_out(objects, tree, tmp_path / "alias", max_bytes=50).root == (tmp_path / "real").resolve()
        )


@pytest.mark.parametrize("name", ["a+b", "full"])
def test_places_that_would_break_are_refused(repo: GitRepo, tmp_path: Path, name: str):
    repo.commit(**{"a.py": ""})
    target = tmp_path / name
    target.mkdir()
    if name == "full":
        (target / "there").write_text("")
    objects, tree = open_tree(repo)
    with objects, pytest.raises(ExactFactsError):
        check_out(objects, tree, target, max_bytes=50)
