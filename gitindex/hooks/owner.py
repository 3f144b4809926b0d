"""Whose a folder is: a work tree may have several users, and what one of them made the others may not write.

Notes belong to the worktree, indexes to users. Whoever may not write the notes gets no background runs there, and
`hooks status` says so; a sync by hand works all the same.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from gitindex.hooks import note


def obstacle(git_dir: Path) -> str | None:
    """Why hooks that this user fires can leave no note in `git_dir`, or None."""
    folder = note.folder(git_dir)
    place = folder if os.path.exists(folder) else git_dir
    if os.access(place, os.W_OK | os.X_OK):
        return None
    return f"{place} belongs to {name(place)}, so hooks of this user can leave no note there"


def name(path: Path) -> str:
    """The owner of `path`, or of the nearest folder above it that can be looked at."""
    import pwd

    for place in (path, *path.parents):
        with contextlib.suppress(OSError):
            uid = place.stat().st_uid
            with contextlib.suppress(KeyError):
                return pwd.getpwuid(uid).pw_name
            return f"user {uid}"
    return "another user"
