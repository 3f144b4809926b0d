"""Reading the working tree: stable, beneath the root, with a stat that may vouch for the bytes next time."""

from __future__ import annotations

import os
import time

from gitindex.files.safeopen import NotAFile, OutOfRoot, ReadError, Root, Unreadable, Vanished
from gitindex.files.stableread import ReadResult, TooLarge, Unstable, stable_read
from gitindex.model.ids import blob_id
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.source_file import LINK, Content, SourceFile

# A file changed this shortly before we read it may change again within the same clock tick (git's "racily clean").
_RACY_NS = 1_000_000_000


def identify(
    root: Root, item: SourceFile, previous: OverlayEntry | None, max_bytes: int, algorithm: str
) -> Content:
    """What the path holds now; not read again when its stat equals the one remembered."""
    if previous is not None and previous.blob and previous.ctime_ns:
        stat = lstat(root, item.raw)
        if stat is not None and _matches_stat(stat, previous):
            return Content(blob=previous.blob, size=previous.size, stat=previous)
    return read_worktree_file(root, item, max_bytes, algorithm)


def read_worktree_file(root: Root, item: SourceFile, max_bytes: int, algorithm: str) -> Content:
    try:
        read = stable_read(root, item.raw, max_bytes)
    except Vanished:
        return Content(vanished=True)
    except TooLarge as error:
        return Content(size=error.size, skip=SkipReason.TOO_LARGE)
    except OutOfRoot:
        return Content(skip=SkipReason.OUT_OF_ROOT)
    except NotAFile:
        return Content(skip=SkipReason.NOT_A_FILE)
    except (Unreadable, Unstable) as error:
        return Content(error=str(error))
    if (read.mode & 0o170000 == LINK) != (item.mode == LINK):
        return Content(error=f"{item.key} changed its type while it was read")
    blob = blob_id(read.data, algorithm)
    return Content(data=read.data, blob=blob, size=read.size, stat=_record_stat(item.key, blob, read))


def lstat(root: Root, raw: bytes) -> os.stat_result | None:
    """The path's own stat, None when it is not there (any more)."""
    try:
        return root.lstat(raw)
    except ReadError:
        return None


def _record_stat(key: str, blob: str, read: ReadResult) -> OverlayEntry:
    settled = time.time_ns() - read.ctime_ns > _RACY_NS
    return OverlayEntry(key, blob, read.size, read.mtime_ns, read.ctime_ns if settled else 0, read.inode)


def _matches_stat(stat: os.stat_result, previous: OverlayEntry) -> bool:
    current = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    return current == (previous.size, previous.mtime_ns, previous.ctime_ns, previous.inode)
