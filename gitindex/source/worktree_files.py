"""Reading the working tree: stable, beneath the root, with a stat that may vouch for the bytes next time."""

from __future__ import annotations

import os
import time

from gitindex.files.safeopen import NotAFile, OutOfRoot, ReadError, Root, Unreadable, Vanished
from gitindex.files.stableread import Read, TooLarge, Unstable, stable_read
from gitindex.model.ids import blob_id
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.source_file import LINK, Candidate, Content

# A file changed this shortly before we read it may change again within the same clock tick (git's "racily clean").
_RACY_NS = 1_000_000_000


def identify(
    root: Root, item: Candidate, known: OverlayEntry | None, max_bytes: int, algorithm: str
) -> Content:
    """What the path holds now; not read again when its stat equals the one remembered."""
    if known is not None and known.blob and known.ctime_ns:
        stat = lstat(root, item.raw)
        if stat is not None and _same(stat, known):
            return Content(blob=known.blob, size=known.size, stat=known)
    return read_work(root, item, max_bytes, algorithm)


def read_work(root: Root, item: Candidate, max_bytes: int, algorithm: str) -> Content:
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
    return Content(data=read.data, blob=blob, size=read.size, stat=_vouch(item.key, blob, read))


def lstat(root: Root, raw: bytes) -> os.stat_result | None:
    """The path's own stat, None when it is not there (any more)."""
    try:
        return root.lstat(raw)
    except ReadError:
        return None


def _vouch(key: str, blob: str, read: Read) -> OverlayEntry:
    settled = time.time_ns() - read.ctime_ns > _RACY_NS
    return OverlayEntry(key, blob, read.size, read.mtime_ns, read.ctime_ns if settled else 0, read.inode)


def _same(stat: os.stat_result, known: OverlayEntry) -> bool:
    seen = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    return seen == (known.size, known.mtime_ns, known.ctime_ns, known.inode)
