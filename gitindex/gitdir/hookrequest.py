"""What a hook asks for: "look at HEAD again". One per worktree and user, in the worktree's own git directory.

Two files, because the larger request wins: `pending` asks for everything, `pending.commit` for committed
content only (pre-commit hides unstaged changes while its hooks run). A request is renamed to `kept` before HEAD is
read and removed only when the work is done (HK-3): a worker that fails or is killed leaves it for the next hook,
and a hook that fires meanwhile leaves a fresh one. Older releases left requests in the folder above; they count too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gitindex.errors import HookError
from gitindex.gitdir import folder as folders
from gitindex.gitdir.folder import Folder

_FULL = "pending"
_COMMIT = "pending.commit"
_KEPT = {_FULL: "kept", _COMMIT: "kept.commit"}
NAMES = (*_KEPT, *_KEPT.values())


@dataclass(frozen=True)
class HookRequest:
    """What was asked for by the hooks since the last look."""

    commit_only: bool
    left_at: float = field(default=0.0, compare=False)
    kept: tuple[tuple[str, tuple[int, int]], ...] = field(default=(), compare=False)  # names and which file


def folder(git_dir: Path) -> Path:
    """Where everything of ours in a git directory lives."""
    return folders.path(git_dir)


def pending(git_dir: Path) -> bool:
    """Whether a hook fired and the index was not brought up since."""
    return bool(_found(git_dir, NAMES))


def fresh(git_dir: Path) -> bool:
    """Whether a hook fired and nobody looked since."""
    return bool(_found(git_dir, _KEPT))


def age(git_dir: Path) -> float | None:
    """Seconds since the newest fresh request, or None when there is none."""
    found = _found(git_dir, _KEPT)
    return max(0.0, time.time() - max(stat.st_mtime for stat in found)) if found else None


def leave(git_dir: Path, request: HookRequest) -> None:
    """Ask for a look at HEAD, as the hooks do. Raises HookError where this user cannot leave one."""
    with folders.opened(git_dir, make=True) as place:
        if place is None:
            raise HookError(f"a hook request cannot be written in {folder(git_dir)}", hint="gitindex sync")
        name = _COMMIT if request.commit_only else _FULL
        descriptor = place.open(name, os.O_WRONLY | os.O_CREAT)
        os.utime(descriptor)
        os.close(descriptor)


def take(git_dir: Path) -> HookRequest | None:
    """Put the request aside, with any that an earlier look left behind; call it before reading HEAD."""
    adopt(git_dir)
    with folders.opened(git_dir) as place:
        return _take(place) if place is not None else None


def adopt(git_dir: Path) -> None:
    """Move requests that hooks of an older release left into this user's folder."""
    older = folders.leftovers(git_dir, NAMES)
    if older:
        with folders.opened(git_dir, make=True) as place:
            for name in older:
                if place is not None:
                    place.adopt(git_dir, name)


def _take(place: Folder) -> HookRequest | None:
    for name, kept in _KEPT.items():
        place.rename(name, kept)
    found = {kept: stat for kept in _KEPT.values() if (stat := place.stat(kept)) is not None}
    if not found:
        return None
    left_at = max(stat.st_mtime for stat in found.values())
    return HookRequest(
        _KEPT[_FULL] not in found, left_at, tuple((name, _which(stat)) for name, stat in found.items())
    )


def done(git_dir: Path, request: HookRequest) -> None:
    """Remove a request that was served; one that somebody else took meanwhile is theirs."""
    with folders.opened(git_dir) as place:
        for name, which in request.kept:
            stat = place.stat(name) if place is not None else None
            if place is not None and stat is not None and _which(stat) == which:
                place.remove(name)


def withdraw(git_dir: Path) -> None:
    """Ask for nothing any more."""
    folders.drop_leftovers(git_dir, NAMES)
    with folders.opened(git_dir) as place:
        for name in NAMES:
            if place is not None:
                place.remove(name)


@contextmanager
def taken(git_dir: Path, *, commit_only: bool = False) -> Iterator[HookRequest | None]:
    """Take the request for the length of a sync. It stays when the sync fails, is interrupted, or leaves out what was
    asked for (`commit_only`)."""
    request = take(git_dir)
    yield request
    if request is not None and (request.commit_only or not commit_only):
        done(git_dir, request)


def _found(git_dir: Path, names: Iterable[str]) -> list[os.stat_result]:
    """Those of the requests `names` that are there and this user's."""
    older = folders.leftovers(git_dir, names)
    with folders.opened(git_dir) as place:
        ours = (place.stat(name) for name in names) if place is not None else ()
        return [*older.values(), *(stat for stat in ours if stat is not None)]


def _which(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_ino, stat.st_mtime_ns
