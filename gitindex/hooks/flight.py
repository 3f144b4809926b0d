"""Single flight: at most one worker per worktree, by a lock the kernel drops when its holder dies (HK-3).

The holder's process id is in the file while it holds the lock, and is gone before it lets go: hooks read it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
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
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield True
    finally:
        os.ftruncate(descriptor, 0)
        os.close(descriptor)


def _lock(path: Path) -> int | None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (FileNotFoundError, NotADirectoryError):  # uninstalled meanwhile
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    if _is_at(descriptor, path):
        os.ftruncate(descriptor, 0)  # what a killed holder left
        return descriptor
    os.close(descriptor)  # the file was removed between open and lock: a lock on it excludes nobody
    return _lock(path)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
