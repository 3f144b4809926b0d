"""Reads files of the working tree, and records a stat by which the next sync can skip an unchanged file."""

from __future__ import annotations

import os
import time

from gitindex.files.safeopen import NotAFile, OutOfRoot, ReadError, Root, Unreadable, Vanished
from gitindex.files.stableread import TooLarge, Unstable, stable_read
from gitindex.model.file_stat import Stat
from gitindex.model.ids import blob_id
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.source_file import LINK, Content, SourceFile

# A file changed this shortly before we read it may change again within the same clock tick (git's "racily clean").
_RACY_NS = 1_000_000_000


def identify(
    root: Root, item: SourceFile, previous: OverlayEntry | None, max_bytes: int, algorithm: str
) -> Content:
    """What the path holds now; not read again when its stat equals the one that `previous` recorded."""
    if previous is not None and previous.blob and previous.stat.is_settled:
        stat = lstat(root, item.raw)
        if stat is not None and Stat.of(stat) == previous.stat:
            return Content(blob=previous.blob, size=previous.stat.size, overlay_entry=previous)
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
    entry = OverlayEntry(item.key, blob, _trusted_stat(read.stat))
    return Content(data=read.data, blob=blob, size=len(read.data), overlay_entry=entry)


def lstat(root: Root, raw: bytes) -> os.stat_result | None:
    """The path's own stat, None when it is not there (any more)."""
    try:
        return root.lstat(raw)
    except ReadError:
        return None


def _trusted_stat(stat: Stat) -> Stat:
    return stat if time.time_ns() - stat.ctime_ns > _RACY_NS else stat.unsettled
