"""At most one worker per worktree and user, by a lock that the kernel releases when its holder dies (HK-3).

The holder writes its process id into the file and removes it before it releases the lock; hooks read it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitindex.gitdir import folder
from gitindex.gitdir.folder import Folder

NAME = "worker.lock"


@contextmanager
def try_worker_lock(git_dir: Path) -> Iterator[bool]:
    """Yield whether we are the only worker; never waits."""
    with folder.open_folder(git_dir) as user_folder:
        descriptor = _lock(user_folder) if user_folder is not None else None
    if descriptor is None:
        yield False
        return
    try:
        _write_holder(descriptor, f"{os.getpid()}\n")
        yield True
    finally:
        _write_holder(descriptor, "")
        os.close(descriptor)


def _lock(user_folder: Folder) -> int | None:
    try:
        descriptor = user_folder.open(NAME, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:  # uninstalled meanwhile
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    lock_stat = user_folder.stat(NAME)
    if lock_stat is not None and os.path.samestat(os.fstat(descriptor), lock_stat):
        return descriptor
    os.close(descriptor)  # the file was removed between open and lock: a lock on it excludes nobody
    return _lock(user_folder)


def _write_holder(descriptor: int, text: str) -> None:
    """Replace the text. On a full disk hooks find no id and start a worker, which finds the lock taken."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
