"""The note a hook leaves: "look at HEAD again". One per worktree, in its own git directory.

Two files, because the strongest wish wins: `pending` asks for everything, `pending.commit` for committed
content only (pre-commit hides unstaged changes while its hooks run). A note is renamed to `kept` before HEAD is
read and removed only when the work is done (HK-3): a worker that fails or is killed leaves it for the next hook,
and a hook that fires meanwhile leaves a fresh one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = "gitindex"
_FULL = "pending"
_COMMIT = "pending.commit"
_KEPT = {_FULL: "kept", _COMMIT: "kept.commit"}
_NONE = (FileNotFoundError, NotADirectoryError, PermissionError)  # the last: another user's, see `owner`


@dataclass(frozen=True)
class Note:
    """What was asked for by the hooks since the last look."""

    commit_only: bool
    left_at: float = field(default=0.0, compare=False)
    kept: tuple[tuple[str, tuple[int, int]], ...] = field(default=(), compare=False)  # names and which file


def folder(git_dir: Path) -> Path:
    """Where everything of ours in a git directory lives."""
    return git_dir / FOLDER


def pending(git_dir: Path) -> bool:
    """Whether a hook fired and the index was not brought up since."""
    return any(_stat(folder(git_dir) / name) for name in (*_KEPT, *_KEPT.values()))


def fresh(git_dir: Path) -> bool:
    """Whether a hook fired and nobody looked since."""
    return any(_stat(folder(git_dir) / name) for name in _KEPT)


def age(git_dir: Path) -> float | None:
    """Seconds since the newest fresh note, or None when there is none."""
    found = [stat for name in _KEPT if (stat := _stat(folder(git_dir) / name)) is not None]
    return max(0.0, time.time() - max(stat.st_mtime for stat in found)) if found else None


def leave(git_dir: Path, note: Note) -> None:
    """Ask for a look at HEAD, as the hooks do."""
    place = folder(git_dir)
    place.mkdir(exist_ok=True)
    (place / (_COMMIT if note.commit_only else _FULL)).touch()


def take(git_dir: Path) -> Note | None:
    """Put the note aside, with any that an earlier look left behind; call it before reading HEAD."""
    place = folder(git_dir)
    for name, kept in _KEPT.items():
        _rename(place / name, place / kept)
    found = {kept: stat for kept in _KEPT.values() if (stat := _stat(place / kept)) is not None}
    if not found:
        return None
    left_at = max(stat.st_mtime for stat in found.values())
    return Note(
        _KEPT[_FULL] not in found, left_at, tuple((name, _which(stat)) for name, stat in found.items())
    )


def done(git_dir: Path, note: Note) -> None:
    """Remove a note that was served; one that somebody else took meanwhile is theirs."""
    for name, which in note.kept:
        path = folder(git_dir) / name
        stat = _stat(path)
        if stat is not None and _which(stat) == which:
            _remove(path)


def withdraw(git_dir: Path) -> None:
    """Ask for nothing any more."""
    for name in (*_KEPT, *_KEPT.values()):
        _remove(folder(git_dir) / name)


@contextmanager
def taken(git_dir: Path) -> Iterator[Note | None]:
    """Take the note for the length of a sync; it stays when the sync fails or is interrupted."""
    note = take(git_dir)
    yield note
    if note is not None:
        done(git_dir, note)


def _rename(path: Path, target: Path) -> None:
    with suppress(*_NONE):
        os.replace(path, target)


def _remove(path: Path) -> None:
    with suppress(*_NONE):
        path.unlink()


def _which(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_ino, stat.st_mtime_ns


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except _NONE:
        return None
