"""Durable file replacement: the only place that renames, with the fsyncs around it (SN-4).

After a crash at any point a path has either its old or its new content; directories move as a whole. Also translates
full-disk and read-only errors, and gives new files the permissions of their store.
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
# Tantivy does not report why its writer thread died; all that thread does is write, so take it as a denied write.
_DENIED_TEXTS = ("Read-only file system", "Permission denied", "readonly database", "index writer was killed")


@contextmanager
def translate_storage_errors(path: Path) -> Iterator[None]:
    """Turn disk errors of the operating system or an engine, about the store at `path`, into errors of gitindex.

    Raises StorageFull or StoreUnwritable; any other exception passes unchanged.
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
    """Replace the content of `path`: temporary file, fsync, rename, fsync of the directory; fsync only if `durable`."""
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
    """Create a file with the permissions of its store (ST-3), whatever the umask; returns its descriptor.

    Raises FileExistsError.
    """
    mode = store_file_mode(path.parent)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, mode or 0o666)
    if mode and stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:  # else the folder's ACL already set it
        os.fchmod(descriptor, mode)
    return descriptor


def store_file_mode(folder: Path) -> int:
    """The mode of files in a store's folder: readable and writable by the group where the folder is setgid, else by
    the owner only.

    0 for a folder that others may enter: it belongs to no store, so the umask decides.
    """
    mode = folder.stat().st_mode
    if mode & 0o007:
        return 0
    return 0o660 if mode & stat.S_ISGID else 0o600


def create_missing(path: Path) -> None:
    """Create an empty file with the permissions of its store unless it exists: an engine would choose others."""
    with suppress(FileExistsError):
        os.close(create(path))


def make_folder(path: Path) -> None:
    """Create a directory and its missing parents, each with the permissions of its store (ST-3), whatever the umask."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir()
        restrict(path)


def make_private_folder(path: Path, mode: int = 0o700) -> None:
    """Create a directory and its missing parents with `mode` from the start, so that others can never enter.

    Where `mode` admits a group, a setgid parent passes its group on.
    """
    if path.is_dir():
        return
    make_private_folder(path.parent, mode)
    with suppress(FileExistsError):
        path.mkdir(mode=mode)
        path.chmod(mode | (path.stat().st_mode & stat.S_ISGID if mode & 0o070 else 0))


def restrict(path: Path) -> None:
    """Give a new file or directory the permissions of its store; its folder keeps others out already."""
    mode = store_file_mode(path.parent)
    if mode and path.is_dir():
        mode = 0o2770 if mode == 0o660 else 0o700
    if mode and stat.S_IMODE(path.stat().st_mode) != mode:  # a needless chmod would change the ctime
        path.chmod(mode)


def write_json(path: Path, value: Any) -> None:
    write_bytes(path, json.dumps(value, indent=1, sort_keys=False).encode() + b"\n")


def move(source: Path, target: Path) -> None:
    """Move a finished file or directory to `target`, durably. Replaces what a crashed attempt left there."""
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
    """fsync many files and directories in parallel: the file system commits them together."""
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
    """Delete a file or directory and return its size in bytes. A missing path is fine: another process removed it."""
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
    """The size in bytes of a file, or of all files below a directory; 0 for a missing path."""
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
