"""Reads `.git` entries without git: nothing else makes a directory a repository here (CF-5).

Git refuses to check out a path with a `.git` component, so a `.git` entry comes from the user, not from a repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_MAX_BYTES = 8 * 1024  # of a `.git` file: one path
_GITDIR = b"gitdir:"
REPOSITORY_PARTS = ("HEAD", "objects", "refs")


def find_entry_folders(start: Path) -> Iterator[Path]:
    """`start` and the directories above it that hold a `.git` entry, the nearest first."""
    return (folder for folder in (start, *start.parents) if os.path.lexists(folder / ".git"))


def is_named_by_entry(start: Path, git_dir: Path) -> bool:
    """Does a `.git` entry at or above `start` name this git directory? Both are real paths."""
    return any(_resolve_entry(folder) == git_dir for folder in find_entry_folders(start))


class RepositoryEntry(NamedTuple):
    root: Path  # the directory that holds the `.git` entry
    git_dir: Path  # what the entry names


def find_repository(start: Path) -> RepositoryEntry | None:
    """The nearest repository at or above `start`, whole or damaged, by its `.git` entry.

    As git does, it stays on the file system of `start`. A directory that merely is called `.git` is none.
    """
    device = start.stat().st_dev
    for folder in find_entry_folders(start):
        if folder.stat().st_dev != device:
            return None
        target = _resolve_entry(folder)
        if target is not None and (_is_gitdir_file(folder) or _resembles_repository(target)):
            return RepositoryEntry(folder, target)
    return None


def _resembles_repository(folder: Path) -> bool:
    """Are at least two of the three entries there by which git knows a repository? One may be lost."""
    return sum((folder / name).exists() for name in REPOSITORY_PARTS) >= 2


def find_common_dir(git_dir: Path) -> Path:
    """The git directory whose objects and branches a linked worktree shares; of a main worktree `git_dir` itself."""
    text = _read_short_file(git_dir / "commondir").strip()
    return (git_dir / os.fsdecode(text)).resolve() if text else git_dir


def _is_gitdir_file(folder: Path) -> bool:
    return _read_short_file(folder / ".git").startswith(_GITDIR)


def _resolve_entry(folder: Path) -> Path | None:
    """What the entry names: itself, or the directory that its text names."""
    entry = folder / ".git"
    if entry.is_dir():
        return entry.resolve()
    text = _read_short_file(entry).removeprefix(_GITDIR).strip()
    return (folder / os.fsdecode(text)).resolve() if text and b"\0" not in text else None


def _read_short_file(path: Path) -> bytes:
    """The text of a file that holds one path, empty when it cannot be read."""
    if not path.is_file():  # opening a fifo would block
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return b""
