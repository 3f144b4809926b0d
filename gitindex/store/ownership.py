"""Whose a store is (ST-3): one that somebody else made, or could change, is not believed and not written.

GITINDEX_HOME may be shared. In single mode a store belongs to the user who runs us, root included, and nobody else may
write it; in shared mode it belongs to a group of this user (setgid, group-writable). Only the store's directory and its
control files are looked at: nobody else can make or change anything below a directory that is closed to them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gitindex.errors import ForeignStore
from gitindex.model.foreign import argument
from gitindex.store.layout import Layout

_OWN_HOME = "set GITINDEX_HOME to a directory of your own"


def check(layout: Layout, mode: str) -> None:
    """Raises ForeignStore, with the next step. A store that is not there is nobody's."""
    found = problem(layout, mode)
    if found is not None:
        raise found


def problem(layout: Layout, mode: str) -> ForeignStore | None:
    """Why a user of stores of this `mode` must not believe this one, or None."""
    base = _lstat(layout.base)
    if base is None:
        return None
    if not stat.S_ISDIR(base.st_mode):
        return ForeignStore(f"the index at {layout.base} is no directory", hint=_OWN_HOME)
    group = _is_group_store(base)
    flaw = _group_flaw(layout.base, base) if group else _writable(layout.base, base)
    if not (group and mode == "shared"):
        flaw = _stranger(layout.base, base) or flaw
    return flaw or _control_flaw(layout, own=not group)


def check_private(folder: Path) -> None:
    """Raises ForeignStore for a directory of the home that is not this user's alone to write."""
    found = folder.lstat()
    flaw = _stranger(folder, found) or _writable(folder, found)
    if flaw is not None or not stat.S_ISDIR(found.st_mode):
        raise flaw or ForeignStore(f"{folder} is no directory", hint=_OWN_HOME)


def user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _is_group_store(base: os.stat_result) -> bool:
    return bool(base.st_mode & stat.S_ISGID) and bool(base.st_mode & stat.S_IWGRP)


def _group_flaw(path: Path, base: os.stat_result) -> ForeignStore | None:
    if base.st_mode & stat.S_IWOTH:
        return ForeignStore(
            f"everybody may write the index at {path}", hint=f"chmod o-w {argument(str(path))}"
        )
    if base.st_gid not in {os.getegid(), *os.getgroups()}:
        return ForeignStore(f"the index at {path} belongs to a group that you are not in", hint=_OWN_HOME)
    return None


def _control_flaw(layout: Layout, *, own: bool) -> ForeignStore | None:
    for path in (layout.active, layout.state, layout.lease):
        found = _lstat(path)
        if found is None:
            continue
        if not stat.S_ISREG(found.st_mode):
            return ForeignStore(
                f"{path} is no regular file", hint=f"remove {argument(str(layout.base))}, then sync again"
            )
        flaw = (_stranger(path, found) or _writable(path, found)) if own else None
        if flaw is not None:
            return flaw
    return None


def _stranger(path: Path, found: os.stat_result) -> ForeignStore | None:
    if found.st_uid == os.geteuid():
        return None
    return ForeignStore(f"the index at {path} belongs to {user_name(found.st_uid)}", hint=_OWN_HOME)


def _writable(path: Path, found: os.stat_result) -> ForeignStore | None:
    if not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return None
    return ForeignStore(f"others may write the index at {path}", hint=f"chmod go-w {argument(str(path))}")


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # the last: whoever opens it says so
        return None
