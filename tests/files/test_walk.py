"""A directory without git lists as git would list it (CS-6), and drops nothing in silence (EL-1)."""

from __future__ import annotations

import os
from pathlib import Path

from gitindex.files.ignore import Ignore, IgnoreRules
from gitindex.files.safeopen import Root
from gitindex.files.walk import DIRECTORY_MODE, NESTED_MODE, WalkEntry, walk
from tests.support.gitrepo import GitRepo


def listed(where: Path, ignore: Ignore | None = None) -> dict[bytes, WalkEntry]:
    with Root(where) as root:
        found = list(walk(root, ignore))
    assert [entry.path for entry in found] == sorted(entry.path for entry in found)
    return {entry.path: entry for entry in found}


def test_lists_what_git_would(repo: GitRepo) -> None:
    """CS-6, EL-5: same files in the same order as git's own listing of untracked files."""
    odd = [b"a b", b"new\nline", b"\xff", b"q\"uote'", b"a.b", b"a-", b"a/x", b"a/y.o", b"a0", b"a/deep/er/z"]
    for name in odd:
        repo.write(os.fsdecode(name), b"x")
    repo.write(".gitignore", "*.o\n/skip\n")
    repo.write("a/.gitignore", "!y.o\ndeep/*\n")
    repo.write("a/deep/.gitignore", "!er\n")
    repo.write("skip/x", "")
    (repo.root / "link").symlink_to("a")
    (repo.root / "run").write_text("#!")
    (repo.root / "run").chmod(0o755)
    theirs = repo.git("ls-files", "--others", "--exclude-per-directory=.gitignore", "-z")
    found = listed(repo.root)
    assert found.pop(b".git").mode == NESTED_MODE
    assert list(found) == [os.fsencode(name) for name in theirs.split("\0")[:-1]]
    assert found[b"link"].mode == 0o120000
    assert found[b"run"].mode == 0o100755
    stat = (repo.root / "a/x").stat()
    assert found[b"a/x"] == (b"a/x", 0o100644, 1, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)


def test_extra_rules_hold_too(tmp_path: Path) -> None:
    top = GitRepo(tmp_path / "top")
    for name in ("a.py", "gen/b.py", "gen/keep/c.py"):
        top.write(name, "")
    extra = Ignore([IgnoreRules.parse("", b"gen/\n!gen/keep")])
    assert list(listed(top.root, extra)) == [b"a.py"]


def test_nested_repositories_are_named_not_entered(tmp_path: Path) -> None:
    """EL-4."""
    top = GitRepo(tmp_path / "top")
    top.write("a.py", "")
    GitRepo.create(top.root / "vendor/lib").write("inner.py", "")
    top.write("linked/.git", "gitdir: elsewhere\n")
    top.write("linked/inner.py", "")
    found = listed(top.root)
    assert list(found) == [b"a.py", b"linked", b"vendor/lib"]
    assert found[b"linked"].mode == found[b"vendor/lib"].mode == NESTED_MODE


def test_special_files_and_closed_directories_are_entries(tmp_path: Path) -> None:
    """EL-1: no silent drop."""
    top = GitRepo(tmp_path / "top")
    top.write("closed/a.py", "")
    top.write("open/a.py", "")
    os.mkfifo(top.root / "fifo")
    (top.root / "closed").chmod(0)
    was = os.geteuid()
    with Root(top.root) as root:
        try:
            if was == 0:
                os.seteuid(65534)
            found = {entry.path: entry.mode for entry in walk(root)}
        finally:
            os.seteuid(was)
    (top.root / "closed").chmod(0o755)
    assert found == {b"closed": DIRECTORY_MODE, b"fifo": 0o010000, b"open/a.py": 0o100644}


def test_linked_rule_files_and_directories_are_not_followed(tmp_path: Path) -> None:
    """EL-3: a link out of the root lends neither rules nor files."""
    top = GitRepo(tmp_path / "top")
    (tmp_path / "rules").write_text("*.py\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret.py").touch()
    top.write("a.py", "")
    (top.root / ".gitignore").symlink_to("../rules")
    (top.root / "out").symlink_to("../out")
    assert list(listed(top.root)) == [b".gitignore", b"a.py", b"out"]


def test_very_deep_trees_end(tmp_path: Path) -> None:
    """EL-1: deeper than a path can be spelled: reported, not crashed on."""
    fd = os.open(tmp_path, os.O_RDONLY)
    (tmp_path / "top").mkdir()
    here = os.open("top", os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    for _ in range(60):
        os.mkdir("n" * 100, dir_fd=here)
        inner = os.open("n" * 100, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    found = listed(tmp_path / "top")
    assert [entry.mode for entry in found.values()] == [DIRECTORY_MODE]
