"""`.git` entries by hand: the only thing that makes a directory a repository to us (CF-5).

Git refuses to check out a path with a `.git` component, so whoever cloned a repository made its `.git` himself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_MAX_BYTES = 8 * 1024  # of a `.git` file: one path


def holders(start: Path) -> Iterator[Path]:
    """`start` and the directories above it that hold a `.git` entry, the nearest first."""
    return (folder for folder in (start, *start.parents) if os.path.lexists(folder / ".git"))


def names(start: Path, git_dir: Path) -> bool:
    """Does a `.git` entry at or above `start` name this git directory? Both are real paths."""
    return any(_target(folder) == git_dir for folder in holders(start))


def _target(folder: Path) -> Path | None:
    """What the entry names: itself, or the directory that its text names."""
    entry = folder / ".git"
    if entry.is_dir():
        return entry.resolve()
    if not entry.is_file():  # a fifo would block whoever opens it
        return None
    try:
        with open(entry, "rb") as file:
            text = file.read(_MAX_BYTES)
    except OSError:
        return None
    return (folder / os.fsdecode(text.removeprefix(b"gitdir:").strip())).resolve()
