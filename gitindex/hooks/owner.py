"""Who owns the folder of hook requests: a work tree may have several users, and each has a folder (HK-6).

A user who cannot create that folder gets no background runs there, and `hooks status` says so; `gitindex sync` still
works.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from gitindex.gitdir import folder
from gitindex.store.ownership import user_name


def find_obstacle(git_dir: Path) -> str | None:
    """Why hooks of this user cannot write requests in `git_dir`; None when they can."""
    user_folder = folder.user_folder_path(git_dir)
    try:
        folder_stat = user_folder.lstat()
    except PermissionError:
        return _describe_forbidden(folder.common_folder_path(git_dir))
    except OSError:
        parent = (
            folder.common_folder_path(git_dir)
            if os.path.lexists(folder.common_folder_path(git_dir))
            else git_dir
        )
        return None if os.access(parent, os.W_OK | os.X_OK) else _describe_forbidden(parent)
    return None if folder.is_private(folder_stat) else _describe_unsafe(user_folder, folder_stat)


def _describe_forbidden(directory: Path) -> str:
    return (
        f"{directory} belongs to {owner_name(directory)}, so hooks of this user cannot write requests there"
    )


def _describe_unsafe(directory: Path, folder_stat: os.stat_result) -> str:
    if stat.S_ISLNK(folder_stat.st_mode) or not stat.S_ISDIR(folder_stat.st_mode):
        return f"{directory} is not a folder, so hooks cannot write requests there; remove it"
    if folder_stat.st_uid != os.geteuid():
        name = owner_name(directory)
        return f"{directory} belongs to {name}, so hooks of this user cannot write requests there; remove it"
    mode = f"{stat.S_IMODE(folder_stat.st_mode):o}"
    return (
        f"{directory} has mode {mode}, not {folder.MODE:o}, so hooks do not write requests there; remove it"
    )


def owner_name(path: Path) -> str:
    """The owner of `path`, or of the nearest folder above it that can be read."""
    for directory in (path, *path.parents):
        with contextlib.suppress(OSError):
            return user_name(directory.stat().st_uid)
    return "another user"
