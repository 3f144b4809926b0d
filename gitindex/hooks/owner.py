"""Whose a folder is: a work tree may have several users, and each has a folder of requests (HK-6).

Whoever can make no such folder gets no background runs there, and `hooks status` says so; a sync by hand works all
the same.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from gitindex.gitdir import folder
from gitindex.store.ownership import user_name


def obstacle(git_dir: Path) -> str | None:
    """Why hooks that this user fires can leave no request in `git_dir`, or None."""
    place = folder.path(git_dir)
    try:
        found = place.lstat()
    except PermissionError:
        return _forbidden(folder.common(git_dir))
    except OSError:
        above = folder.common(git_dir) if os.path.lexists(folder.common(git_dir)) else git_dir
        return None if os.access(above, os.W_OK | os.X_OK) else _forbidden(above)
    return None if folder.private(found) else _unsafe(place, found)


def _forbidden(place: Path) -> str:
    return f"{place} belongs to {name(place)}, so hooks of this user cannot leave requests there"


def _unsafe(place: Path, found: os.stat_result) -> str:
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
        return f"{place} is no folder, so hooks leave no requests there; remove it"
    if found.st_uid != os.geteuid():
        return f"{place} belongs to {name(place)}, so hooks of this user leave no requests there; remove it"
    mode = f"{stat.S_IMODE(found.st_mode):o}"
    return f"{place} has mode {mode}, not {folder.MODE:o}, so hooks leave no requests there; remove it"


def name(path: Path) -> str:
    """The owner of `path`, or of the nearest folder above it that can be looked at."""
    for place in (path, *path.parents):
        with contextlib.suppress(OSError):
            return user_name(place.stat().st_uid)
    return "another user"
