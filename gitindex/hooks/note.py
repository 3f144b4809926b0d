"""The note a hook leaves: "look at HEAD again". One per worktree, in its own git directory.

Two files, because the strongest wish wins: `pending` asks for everything, `pending.commit` for committed
content only (pre-commit hides unstaged changes while its hooks run). Invariant: a note is removed before
HEAD is read and put back when the work failed, so no wake-up is lost (HK-3).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = "gitindex"
_FULL = "pending"
_COMMIT = "pending.commit"


@dataclass(frozen=True)
class Note:
    """What was asked for by the hooks since the last look."""

    commit_only: bool


def folder(git_dir: Path) -> Path:
    """Where everything of ours in a git directory lives."""
    return git_dir / FOLDER


def pending(git_dir: Path) -> bool:
    """Whether a hook fired and nobody looked since."""
    place = folder(git_dir)
    return (place / _FULL).exists() or (place / _COMMIT).exists()


def age(git_dir: Path) -> float | None:
    """Seconds since the newest note, or None when there is none."""
    times = [stamp for name in (_FULL, _COMMIT) if (stamp := _modified(folder(git_dir) / name)) is not None]
    return max(0.0, time.time() - max(times)) if times else None


def leave(git_dir: Path, note: Note) -> None:
    """Ask for a look at HEAD, as the hooks do."""
    place = folder(git_dir)
    place.mkdir(exist_ok=True)
    (place / (_COMMIT if note.commit_only else _FULL)).touch()


def take(git_dir: Path) -> Note | None:
    """Remove the note and say what it asked for; call it before reading HEAD."""
    full = _remove(folder(git_dir) / _FULL)
    commit = _remove(folder(git_dir) / _COMMIT)
    return Note(commit_only=not full) if full or commit else None


@contextmanager
def taken(git_dir: Path) -> Iterator[Note | None]:
    """Take the note for the length of a sync; a sync that fails or is interrupted puts it back."""
    note = take(git_dir)
    try:
        yield note
    except BaseException:
        if note is not None:
            leave(git_dir, note)
        raise


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _modified(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return None
