"""Reads files that another process may be writing (CS-3): stat, read, stat, and again when the two stats differ."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from typing import NamedTuple

from gitindex.files.safeopen import IsLink, ReadError, Root, Unreadable
from gitindex.model.file_stat import Stat

LINK_MODE = 0o120000
_PIECE = 1 << 20


class Unstable(ReadError):
    """The file kept changing while it was read."""


class TooLarge(ReadError):
    """Larger than asked for; nothing beyond that was read."""

    def __init__(self, message: str, size: int) -> None:
        super().__init__(message)
        self.size = size


class ReadResult(NamedTuple):
    data: bytes  # of a symlink: its target
    mode: int  # as git stores it: 100644, 100755, 120000
    stat: Stat


# The coarsest kernel clock that stamps files ticks a hundred times a second.
_TICK_NS = 10_000_000
_RECENT_NS = 2_000_000_000


def back_off(attempt: int) -> None:
    time.sleep(0.005 * 2**attempt)


def stable_read(
    root: Root,
    path: bytes,
    max_bytes: int,
    attempts: int = 5,
    pause: Callable[[int], None] = back_off,
) -> ReadResult:
    """The file's bytes as they were at one moment.

    Raises Vanished, OutOfRoot, NotAFile, Unreadable, TooLarge, or Unstable after `attempts` tries.
    """
    for attempt in range(attempts):
        try:
            read = _read_file(root, path, max_bytes)
        except IsLink:
            read = _read_link(root, path)
        if read is not None:
            return read
        if attempt + 1 < attempts:
            pause(attempt)
    raise Unstable(
        f"{path.decode('utf-8', 'backslashreplace')} keeps changing while it is read", hint="gitindex sync"
    )


def _read_file(root: Root, path: bytes, max_bytes: int) -> ReadResult | None:
    fd = root.open(path)
    try:
        before = os.fstat(fd)
        if before.st_size > max_bytes:
            raise TooLarge(f"{path.decode('utf-8', 'backslashreplace')} is too large", before.st_size)
        data = _read_up_to(fd, before.st_size + 1)
        unsettled = _age_ns(before) < _RECENT_NS and not _rereads_equal(fd, before, data)
        after = os.fstat(fd)
    except OSError as error:
        raise Unreadable(
            f"cannot read {path.decode('utf-8', 'backslashreplace')}: {error.strerror}"
        ) from error
    finally:
        os.close(fd)
    if unsettled or len(data) != before.st_size or Stat.of(before) != Stat.of(after):
        return None
    mode = 0o100755 if after.st_mode & stat.S_IXUSR else 0o100644
    return ReadResult(data, mode, Stat.of(after))


def _read_link(root: Root, path: bytes) -> ReadResult | None:
    before = root.lstat(path)
    if not stat.S_ISLNK(before.st_mode):
        return None
    target = root.readlink(path)
    after = root.lstat(path)
    if Stat.of(before) != Stat.of(after):
        return None
    return ReadResult(target, LINK_MODE, Stat.of(after))


def _read_up_to(fd: int, limit: int) -> bytes:
    """At most `limit` bytes; one more than the size shows growth."""
    pieces = []
    while limit > 0:
        piece = os.read(fd, min(limit, _PIECE))
        if not piece:
            break
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)


def _rereads_equal(fd: int, before: os.stat_result, data: bytes) -> bool:
    """Does a second read return the same bytes, and has the clock that stamps files ticked since the last write?

    Within one tick another write leaves the same stamp, and a read may catch pages of two versions.
    """
    os.lseek(fd, 0, os.SEEK_SET)
    return _age_ns(before) >= _TICK_NS and _read_up_to(fd, before.st_size + 1) == data


def _age_ns(stat_result: os.stat_result) -> int:
    """Nanoseconds since the last change; a stamp from the future (the clock was set back) counts as old."""
    age = time.time_ns() - stat_result.st_ctime_ns
    return age if age >= 0 else _RECENT_NS
