"""Hook requests: files by which a git hook asks for a sync. One per worktree and user, in the worktree's git directory.

Two files, because the larger request wins: `pending` asks for everything, `pending.commit` for committed content only
(pre-commit hides unstaged changes while its hooks run). A sync renames a request to `kept` before it reads HEAD and
removes it only when it is done (HK-3): a worker that fails or is killed leaves it for the next hook, and a hook that
fires meanwhile leaves a new one. Older releases left requests in the folder above; they count too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gitindex.errors import HookError
from gitindex.gitdir import folder as folders
from gitindex.gitdir.folder import Folder
from gitindex.model.file_stat import Stat

_FULL = "pending"
_COMMIT = "pending.commit"
_TAKEN_NAMES = {_FULL: "kept", _COMMIT: "kept.commit"}
NAMES = (*_TAKEN_NAMES, *_TAKEN_NAMES.values())


class TakenFile(NamedTuple):
    name: str
    stat: Stat  # tells it from a request that another process put in its place


@dataclass(frozen=True)
class HookRequest:
    """What the hooks asked for since the last sync."""

    commit_only: bool
    requested_at: float = field(default=0.0, compare=False)
    taken_files: tuple[TakenFile, ...] = field(default=(), compare=False)


def request_folder(git_dir: Path) -> Path:
    """The folder that holds the requests of this user."""
    return folders.user_folder_path(git_dir)


def has_request(git_dir: Path) -> bool:
    """Whether a hook fired and no sync has completed since."""
    return bool(_stat_requests(git_dir, NAMES))


def has_new_request(git_dir: Path) -> bool:
    """Whether a hook fired and no sync has taken its request."""
    return bool(_stat_requests(git_dir, _TAKEN_NAMES))


def newest_age(git_dir: Path) -> float | None:
    """Seconds since the newest request that no sync has taken, or None when there is none."""
    stats = _stat_requests(git_dir, _TAKEN_NAMES)
    return max(0.0, time.time() - max(stat.st_mtime for stat in stats)) if stats else None


def write_request(git_dir: Path, request: HookRequest) -> None:
    """Ask for a sync, as the hooks do. Raises HookError where this user cannot write a request."""
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
    """Take the request, with any that a failed sync left behind; call it before reading HEAD."""
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
    stats = {name: stat for name in _TAKEN_NAMES.values() if (stat := user_folder.stat(name)) is not None}
    if not stats:
        return None
    return HookRequest(
        commit_only=_TAKEN_NAMES[_FULL] not in stats,
        requested_at=max(stat.st_mtime for stat in stats.values()),
        taken_files=tuple(TakenFile(name, Stat.of(stat)) for name, stat in stats.items()),
    )


def remove_served(git_dir: Path, request: HookRequest) -> None:
    """Remove a request that was served, unless another process has taken a newer one in its place."""
    with folders.open_folder(git_dir) as user_folder:
        if user_folder is None:
            return
        for taken in request.taken_files:
            stat = user_folder.stat(taken.name)
            if stat is not None and Stat.of(stat) == taken.stat:
                user_folder.remove(taken.name)


def withdraw(git_dir: Path) -> None:
    """Remove every request."""
    folders.drop_leftovers(git_dir, NAMES)
    with folders.open_folder(git_dir) as user_folder:
        for name in NAMES:
            if user_folder is not None:
                user_folder.remove(name)


@contextmanager
def serve_request(git_dir: Path, *, commit_only: bool = False) -> Iterator[HookRequest | None]:
    """Take the request for the length of a sync. It stays when the sync fails, is interrupted, or (`commit_only`) does
    less than was asked for."""
    request = take(git_dir)
    yield request
    if request is not None and (request.commit_only or not commit_only):
        remove_served(git_dir, request)


def _stat_requests(git_dir: Path, names: Iterable[str]) -> list[os.stat_result]:
    """The stats of this user's requests among `names`."""
    leftover_stats = folders.find_leftovers(git_dir, names)
    with folders.open_folder(git_dir) as user_folder:
        own_stats = (user_folder.stat(name) for name in names) if user_folder is not None else ()
        return [*leftover_stats.values(), *(stat for stat in own_stats if stat is not None)]
