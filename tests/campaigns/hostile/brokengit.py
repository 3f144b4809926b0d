"""Ways in which a real repository breaks, each with the kind that its damage has."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.support.gitrepo import GitRepo


class Break(NamedTuple):
    kind: str
    apply: Callable[[GitRepo], object]
    tracked: bool = True  # git can still tell what it tracks
    noticed: bool = True  # by a sync of what changed; else only by one of everything


def loose(repo: GitRepo, revision: str) -> Path:
    name = repo.git("rev-parse", revision)
    path = repo.root / ".git/objects" / name[:2] / name[2:]
    path.chmod(0o644)
    return path


def garble(path: Path) -> None:
    path.write_bytes(b"\x11" * 40)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def packed(repo: GitRepo, suffix: str) -> Path:
    repo.git("gc", "-q")
    path = next((repo.root / ".git/objects/pack").glob(f"*.{suffix}"))
    path.chmod(0o644)
    return path


def overwrite(path: Path) -> None:
    """Everything but header and checksum."""
    data = path.read_bytes()
    path.write_bytes(data[:12] + b"\x55" * (len(data) - 32) + data[-20:])


def git(repo: GitRepo, name: str) -> Path:
    return repo.root / ".git" / name


BREAKS = {
    "commit missing": Break("object", lambda r: loose(r, "HEAD").unlink()),
    "commit cut": Break("object", lambda r: cut(loose(r, "HEAD"))),
    "tree missing": Break("object", lambda r: loose(r, "HEAD^{tree}").unlink()),
    "tree garbled": Break("object", lambda r: garble(loose(r, "HEAD^{tree}"))),
    "subtree missing": Break("object", lambda r: loose(r, "HEAD:pkg").unlink(), noticed=False),
    "subtree empty": Break("object", lambda r: loose(r, "HEAD:pkg").write_bytes(b""), noticed=False),
    "pack missing": Break("object", lambda r: packed(r, "pack").unlink()),
    "pack garbled": Break("object", lambda r: overwrite(packed(r, "pack"))),
    "pack cut": Break("object", lambda r: cut(packed(r, "pack"))),
    "pack index cut": Break("object", lambda r: cut(packed(r, "idx"))),
    "branch names no commit": Break(
        "object", lambda r: git(r, "refs/heads/main").write_text("0" * 39 + "1\n")
    ),
    "branch garbled": Break("head", lambda r: git(r, "refs/heads/main").write_text("garbage\n")),
    "index garbled": Break("index", lambda r: garble(git(r, "index"))),
    "index cut": Break("index", lambda r: cut(git(r, "index"))),
    "configuration garbled": Break("config", lambda r: git(r, "config").write_text("[core\n"), False),
    "newer format": Break(
        "format",
        lambda r: git(r, "config").write_text("[core]\n\trepositoryformatversion = 9\n"),
        False,
    ),
    "HEAD missing": Break("repository", lambda r: git(r, "HEAD").unlink(), False),
    "HEAD garbled": Break("repository", lambda r: git(r, "HEAD").write_text("garbage\n"), False),
    "no objects": Break("repository", lambda r: shutil.rmtree(git(r, "objects")), False),
}


class Kept:
    """A copy of a whole git directory, to be put back."""

    def __init__(self, repo: GitRepo, where: Path) -> None:
        self._repo = repo
        self._copy = where
        shutil.copytree(repo.root / ".git", where, symlinks=True)

    def restore(self) -> None:
        shutil.rmtree(self._repo.root / ".git")
        shutil.copytree(self._copy, self._repo.root / ".git", symlinks=True)
