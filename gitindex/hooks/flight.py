"""Single flight: at most one worker per worktree, by a lock the kernel drops when its holder dies (HK-3).

The holder's process id is in the file while it holds the lock, and is gone before it lets go: hooks read it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitindex.hooks import note

_NAME = "worker.lock"


@contextmanager
def alone(git_dir: Path) -> Iterator[bool]:
    """Yield whether we are the only worker; never waits."""
    descriptor = _lock(note.folder(git_dir) / _NAME)
    if descriptor is None:
        yield False
        return
    try:
        _write(descriptor, f"{os.getpid()}\n")
        yield True
    finally:
        _write(descriptor, "")
        os.close(descriptor)


def _lock(path: Path) -> int | None:
    try:
        descriptor = _open(path)
    except (FileNotFoundError, NotADirectoryError):  # uninstalled meanwhile
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    if _is_at(descriptor, path):
        return descriptor
    os.close(descriptor)  # the file was removed between open and lock: a lock on it excludes nobody
    return _lock(path)


def _open(path: Path) -> int:
    """Another user of the same work tree may have made the file: reading is enough to lock it.

    Raises PermissionError where neither the file nor its folder is ours to use.
    """
    with suppress(PermissionError):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with suppress(PermissionError):
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    path.unlink()  # made for its maker alone, who would not see our worker either
    return _open(path)


def _write(descriptor: int, text: str) -> None:
    """Replace the text; without the right to write, hooks see no name and start a worker that finds the lock."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
