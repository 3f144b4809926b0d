"""Checks who owns a store (ST-3): a store that another user made or can change is neither read nor written.

GITINDEX_HOME may be shared. In single mode a store belongs to the current user, root included, and no one else may
write it; in shared mode it belongs to a group of this user (setgid, group-writable). Only the store's directory and its
control files are checked: no one else can create or change anything below a directory that is closed to them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gitindex.errors import ForeignStore
from gitindex.model.foreign import quote_argument
from gitindex.store.layout import Layout

_OWN_HOME_HINT = "set GITINDEX_HOME to a directory of your own"


def check(layout: Layout, mode: str) -> None:
    """Raises ForeignStore, with the next step. A missing store is fine."""
    problem = find_problem(layout, mode)
    if problem is not None:
        raise problem


def find_problem(layout: Layout, mode: str) -> ForeignStore | None:
    """Why a user of stores of this `mode` must not use this one, or None."""
    base_stat = _lstat(layout.base)
    if base_stat is None:
        return None
    if not stat.S_ISDIR(base_stat.st_mode):
        return ForeignStore(f"the index at {layout.base} is no directory", hint=_OWN_HOME_HINT)
    is_group_store = _is_group_store(base_stat)
    find_flaw = _find_group_flaw if is_group_store else _find_mode_flaw
    flaw = find_flaw(layout.base, base_stat)
    if not (is_group_store and mode == "shared"):
        flaw = _find_owner_flaw(layout.base, base_stat) or flaw
    return flaw or _find_control_flaw(layout, private=not is_group_store)


def check_private(folder: Path) -> None:
    """Raises ForeignStore for a directory of the home that is not this user's alone to write."""
    folder_stat = folder.lstat()
    flaw = _find_owner_flaw(folder, folder_stat) or _find_mode_flaw(folder, folder_stat)
    if flaw is not None or not stat.S_ISDIR(folder_stat.st_mode):
        raise flaw or ForeignStore(f"{folder} is no directory", hint=_OWN_HOME_HINT)


def user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _is_group_store(base_stat: os.stat_result) -> bool:
    return bool(base_stat.st_mode & stat.S_ISGID) and bool(base_stat.st_mode & stat.S_IWGRP)


def _find_group_flaw(path: Path, base_stat: os.stat_result) -> ForeignStore | None:
    if base_stat.st_mode & stat.S_IWOTH:
        return ForeignStore(
            f"everybody may write the index at {path}", hint=f"chmod o-w {quote_argument(str(path))}"
        )
    if base_stat.st_gid not in {os.getegid(), *os.getgroups()}:
        return ForeignStore(
            f"the index at {path} belongs to a group that you are not in", hint=_OWN_HOME_HINT
        )
    return None


def _find_control_flaw(layout: Layout, *, private: bool) -> ForeignStore | None:
    for path in (layout.active_pointer, layout.state, layout.lease):
        file_stat = _lstat(path)
        if file_stat is None:
            continue
        if not stat.S_ISREG(file_stat.st_mode):
            return ForeignStore(
                f"{path} is no regular file",
                hint=f"remove {quote_argument(str(layout.base))}, then sync again",
            )
        flaw = (_find_owner_flaw(path, file_stat) or _find_mode_flaw(path, file_stat)) if private else None
        if flaw is not None:
            return flaw
    return None


def _find_owner_flaw(path: Path, file_stat: os.stat_result) -> ForeignStore | None:
    if file_stat.st_uid == os.geteuid():
        return None
    return ForeignStore(f"the index at {path} belongs to {user_name(file_stat.st_uid)}", hint=_OWN_HOME_HINT)


def _find_mode_flaw(path: Path, file_stat: os.stat_result) -> ForeignStore | None:
    if not file_stat.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return None
    return ForeignStore(
        f"others may write the index at {path}", hint=f"chmod go-w {quote_argument(str(path))}"
    )


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:  # opening it will report that
        return None
