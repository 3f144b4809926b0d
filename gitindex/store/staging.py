"""`staging/<txn>`: the folder in which a process builds a snapshot, and the record of that process (LE-1, SN-8, SN-9).

Invariant: a record with content is locked (flock) as long as its builder lives. It names the epoch of the builder's
lease, 0 for those that build without one: compaction, import, refresh. A new owner of the lease removes the folders of
dead builders and of older leases, even if their process is only suspended; a living builder without a lease keeps its
folder. A folder without a readable record is left to gc, which removes it by age.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitindex.model.frozen import frozen
from gitindex.store import atomic
from gitindex.store.layout import Layout

RECORD_NAME = "builder.json"


@frozen
class Builder:
    """The process that builds in a staging folder."""

    pid: int
    lease_epoch: int
    running: bool


@contextmanager
def open_transaction(layout: Layout, txn: str, epoch: int = 0) -> Iterator[Path]:
    """A new staging folder, removed after the body; `epoch` is that of the builder's lease, 0 without one."""
    folder = layout.transaction(txn)
    atomic.make_folder(folder)
    try:
        record = atomic.create(folder / RECORD_NAME)
        try:
            with suppress(OSError):  # a file system without locks: gc then goes by the age of the folder
                fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _write_builder(record, epoch)  # only now: content means that the lock is held
            yield folder
        finally:
            os.close(record)
    finally:
        atomic.remove_tree(folder)


def clear(folder: Path) -> None:
    """Remove everything that was built in the folder of a transaction."""
    for entry in folder.iterdir():
        if entry.name != RECORD_NAME:
            atomic.remove_tree(entry)


def assign_to_lease(layout: Layout, txn: str, epoch: int) -> None:
    """Record that a builder which began without the lease now has it; its folder belongs to that lease."""
    with suppress(OSError):
        record = os.open(layout.transaction(txn) / RECORD_NAME, os.O_RDWR | os.O_CLOEXEC)
        try:
            _write_builder(record, epoch)  # in place: another file would not be locked
        finally:
            os.close(record)


def find_leftovers(layout: Layout, epoch: int) -> list[Path]:
    """Folders of dead builders, and of leases before `epoch`."""
    return [folder for folder, builder in _list_recorded(layout) if _is_leftover(builder, epoch)]


def find_builders(layout: Layout) -> list[Builder]:
    """The builders that are still running."""
    return [builder for _, builder in _list_recorded(layout) if builder.running]


def find_unrecorded(layout: Layout) -> list[Path]:
    """Folders and other entries without a readable record."""
    recorded = {folder for folder, _ in _list_recorded(layout)}
    return [path for path in _list_entries(layout) if path not in recorded]


def _is_leftover(builder: Builder, epoch: int) -> bool:
    return not builder.running or 0 < builder.lease_epoch < epoch


def _list_recorded(layout: Layout) -> list[tuple[Path, Builder]]:
    builders = ((folder, _read_builder(folder / RECORD_NAME)) for folder in _list_entries(layout))
    return [(folder, builder) for folder, builder in builders if builder is not None]


def _list_entries(layout: Layout) -> list[Path]:
    return sorted(layout.staging.iterdir()) if layout.staging.is_dir() else []


def _write_builder(record: int, epoch: int) -> None:
    data = json.dumps({"pid": os.getpid(), "lease_epoch": epoch}).encode()
    os.pwrite(record, data, 0)
    os.ftruncate(record, len(data))


def _read_builder(path: Path) -> Builder | None:
    try:
        record = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        data = json.loads(os.read(record, 4096))
        return Builder(int(data["pid"]), int(data["lease_epoch"]), _is_locked(record))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    finally:
        os.close(record)


def _is_locked(record: int) -> bool:
    """Whether the builder holds the lock; true where the file system cannot say. Closing `record` releases our own."""
    try:
        fcntl.flock(record, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
