"""What a hook asks for: "look at HEAD again". One per worktree and user, in the worktree's own git directory.

Two files, because the larger request wins: `has_request` asks for everything, `pending.commit` for committed
content only (pre-commit hides unstaged changes while its hooks run). A request is renamed to `taken_files` before HEAD is
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
_TAKEN_NAMES = {_FULL: "kept", _COMMIT: "kept.commit"}
NAMES = (*_TAKEN_NAMES, *_TAKEN_NAMES.values())


@dataclass(frozen=True)
class HookRequest:
    """What was asked for by the hooks since the last look."""

    commit_only: bool
    requested_at: float = field(default=0.0, compare=False)
    taken_files: tuple[tuple[str, tuple[int, int]], ...] = field(
        default=(), compare=False
    )  # names and which file


def request_folder(git_dir: Path) -> Path:
    """Where everything of ours in a git directory lives."""
    return folders.user_folder_path(git_dir)


def has_request(git_dir: Path) -> bool:
    """Whether a hook fired and the index was not brought up since."""
    return bool(_stat_requests(git_dir, NAMES))


def has_new_request(git_dir: Path) -> bool:
    """Whether a hook fired and nobody looked since."""
    return bool(_stat_requests(git_dir, _TAKEN_NAMES))


def newest_age(git_dir: Path) -> float | None:
    """Seconds since the newest fresh request, or None when there is none."""
    stats = _stat_requests(git_dir, _TAKEN_NAMES)
    return max(0.0, time.time() - max(stat.st_mtime for stat in stats)) if stats else None


def write_request(git_dir: Path, request: HookRequest) -> None:
    """Ask for a look at HEAD, as the hooks do. Raises HookError where this user cannot leave one."""
    with folders.open_folder(git_dir, create=True) as user_folder:
        if user_folder is None:
            raise HookError(
                f"a hook request cannot be written in {request_folder(git_dir)}", hint="gitindex sync"
            )
        name = _COMMIT if request.commit_only else _FULL
        descriptor = user_folder.open(name, os.O_WRONLY | os.O_CREAT)
        os.utime(descriptor)
        os.close(descriptor)


def take(git_dir: Path) -> HookRequest | None:
    """Put the request aside, with any that an earlier look left behind; call it before reading HEAD."""
    adopt(git_dir)
    with folders.open_folder(git_dir) as user_folder:
        return _take_from(user_folder) if user_folder is not None else None


def adopt(git_dir: Path) -> None:
    """Move requests that hooks of an older release left into this user's folder."""
    leftover_names = folders.find_leftovers(git_dir, NAMES)
    if leftover_names:
        with folders.open_folder(git_dir, create=True) as user_folder:
            for name in leftover_names:
                if user_folder is not None:
                    user_folder.adopt(git_dir, name)


def _take_from(user_folder: Folder) -> HookRequest | None:
    for name, taken_name in _TAKEN_NAMES.items():
        user_folder.rename(name, taken_name)
    stats = {kept: stat for kept in _TAKEN_NAMES.values() if (stat := user_folder.stat(kept)) is not None}
    if not stats:
        return None
    left_at = max(stat.st_mtime for stat in stats.values())
    return HookRequest(
        _TAKEN_NAMES[_FULL] not in stats,
        left_at,
        tuple((name, _file_identity(stat)) for name, stat in stats.items()),
    )


def remove_served(git_dir: Path, request: HookRequest) -> None:
    """Remove a request that was served; one that somebody else took meanwhile is theirs."""
    with folders.open_folder(git_dir) as user_folder:
        for name, identity in request.taken_files:
            stat = user_folder.stat(name) if user_folder is not None else None
            if user_folder is not None and stat is not None and _file_identity(stat) == identity:
                user_folder.remove(name)


def withdraw(git_dir: Path) -> None:
    """Ask for nothing any more."""
    folders.drop_leftovers(git_dir, NAMES)
    with folders.open_folder(git_dir) as user_folder:
        for name in NAMES:
            if user_folder is not None:
                user_folder.remove(name)


@contextmanager
def serve_request(git_dir: Path, *, commit_only: bool = False) -> Iterator[HookRequest | None]:
    """Take the request for the length of a sync. It stays when the sync fails, is interrupted, or leaves out what was
    asked for (`commit_only`)."""
    request = take(git_dir)
    yield request
    if request is not None and (request.commit_only or not commit_only):
        remove_served(git_dir, request)


def _stat_requests(git_dir: Path, names: Iterable[str]) -> list[os.stat_result]:
    """Those of the requests `names` that are there and this user's."""
    leftover_stats = folders.find_leftovers(git_dir, names)
    with folders.open_folder(git_dir) as user_folder:
        own_stats = (user_folder.stat(name) for name in names) if user_folder is not None else ()
        return [*leftover_stats.values(), *(stat for stat in own_stats if stat is not None)]


def _file_identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_ino, stat.st_mtime_ns
