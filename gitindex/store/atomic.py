"""The only rename, and the fsyncs around it (SN-4). Full disks and read-only stores get names here.

A path is either its old or its new content after a crash at any point; directories move whole.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gitindex.errors import GitindexError, StorageFull, StoreUnwritable

_SYNC_THREADS = 16
_FULL_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FULL_TEXTS = ("No space left on device", "Disk quota exceeded", "disk is full")
_DENIED_ERRNOS = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST}
# Tantivy does not say why its writer died; it writes and nothing else.
_DENIED_TEXTS = ("Read-only file system", "Permission denied", "readonly database", "index writer was killed")


@contextmanager
def translate_storage_errors(path: Path) -> Iterator[None]:
    """Name what the operating system or an engine reports about the disk below `path`.

    Raises StorageFull, StoreUnwritable; anything else passes unchanged.
    """
    try:
        yield
    except GitindexError:
        raise
    except (OSError, ValueError, RuntimeError, sqlite3.Error) as error:
        translated = _translate_error(error, path)
        if translated is None:
            raise
        raise translated from error


def _translate_error(error: Exception, path: Path) -> GitindexError | None:
    number = getattr(error, "errno", None)
    text = str(error)  # Tantivy and Lance wrap the errno in their own exceptions
    if number in _FULL_ERRNOS or any(part in text for part in _FULL_TEXTS):
        return StorageFull(
            f"no space left for the index at {path}; the last good snapshot is untouched",
            hint="gitindex gc --stores",
        )
    if number in _DENIED_ERRNOS or any(part in text for part in _DENIED_TEXTS):
        return unwritable_error(path, error)
    return None


def unwritable_error(path: Path, error: Exception) -> StoreUnwritable:
    return StoreUnwritable(
        f"cannot write the index at {path}: {error}", hint="make GITINDEX_HOME a directory you may write to"
    )


def write_bytes(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace `path` by `data`: temporary file, fsync, rename, fsync of the directory; no fsync unless `durable`."""
    temporary = path.with_name(f"{path.name}.tmp.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with open(create(temporary), "wb") as handle:
            handle.write(data)
            handle.flush()
            if durable:
                os.fsync(handle.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_directory(path.parent)


def create(path: Path) -> int:
    """A descriptor of a new file with its store's permissions (ST-3), whatever the umask of the caller.

    Raises FileExistsError.
    """
    mode = store_file_mode(path.parent)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, mode or 0o666)
    if mode and stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:  # else the folder's ACL did it
        os.fchmod(descriptor, mode)
    return descriptor


def store_file_mode(folder: Path) -> int:
    """What files of a store's folder allow: its group where the folder is the group's, else its owner.

    0 for a folder that others may enter: no store, so the umask decides.
    """
    mode = folder.stat().st_mode
    if mode & 0o007:
        return 0
    return 0o660 if mode & stat.S_ISGID else 0o600


def create_missing(path: Path) -> None:
    """An empty file with its store's permissions, where there is none: engines would choose permissions themselves."""
    with suppress(FileExistsError):
        os.close(create(path))


def make_folder(path: Path) -> None:
    """A directory and those above it, each with the permissions of its store (ST-3), whatever the umask."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir()
        restrict(path)


def make_private_folder(path: Path, mode: int = 0o700) -> None:
    """A directory and what is missing above it, with `mode` from the start: nothing in it has to be hurried.

    Where a group may enter, it is the group of the directory above if that one hands its group down (setgid).
    """
    if path.is_dir():
        return
    make_private_folder(path.parent, mode)
    with suppress(FileExistsError):
        path.mkdir(mode=mode)
        path.chmod(mode | (path.stat().st_mode & stat.S_ISGID if mode & 0o070 else 0))


def restrict(path: Path) -> None:
    """Give a new file or directory of a store its permissions; it lies in a folder that keeps others out already."""
    mode = store_file_mode(path.parent)
    if mode and path.is_dir():
        mode = 0o2770 if mode == 0o660 else 0o700
    if mode and stat.S_IMODE(path.stat().st_mode) != mode:  # a change for nothing would change the ctime
        path.chmod(mode)


def write_json(path: Path, value: Any) -> None:
    write_bytes(path, json.dumps(value, indent=1, sort_keys=False).encode() + b"\n")


def move(source: Path, target: Path) -> None:
    """Move a finished file or directory into its place, durably. A leftover of a crashed try is replaced."""
    if target.is_dir() and not target.is_symlink():
        _rmtree(target)
    os.rename(source, target)
    sync_directory(target.parent)


def sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all(paths: Iterable[Path]) -> None:
    """fsync many files and directories at once: the file system commits them together."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_SYNC_THREADS) as pool:
        for _ in pool.map(sync_file, paths):
            pass


def link_or_copy(source: Path, target: Path) -> bool:
    """Hard-link where the file system can, else copy. True when no bytes were copied."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP):
            raise
        from shutil import copyfile

        copyfile(source, target)
        sync_file(target)
        return False
    return True


def remove_tree(path: Path) -> int:
    """Delete a file or directory; returns the bytes it held. Missing is fine: another sweep was quicker."""
    try:
        if not path.is_dir() or path.is_symlink():
            size = path.stat(follow_symlinks=False).st_size
            path.unlink()
            return size
    except FileNotFoundError:
        return 0
    size = tree_size(path)
    _rmtree(path, ignore_errors=True)
    return size


def _rmtree(path: Path, *, ignore_errors: bool = False) -> None:
    from shutil import rmtree  # late: it loads every compressor, and readers remove nothing (UI-3)

    rmtree(path, ignore_errors=ignore_errors)


def tree_size(path: Path) -> int:
    """The bytes of a directory's files, or of one file; 0 for what is gone."""
    if path.is_file() or path.is_symlink():
        return path.lstat().st_size
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                continue
    return total
