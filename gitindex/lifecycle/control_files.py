"""Checks and repairs the control files of a store: the lease, the state file and the queue of refresh jobs.

Lease and state file are rebuilt from the manifests. A damaged queue is replaced by an empty one: it holds jobs and
decisions, but no facts.
"""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from gitindex.errors import StoreCorrupt
from gitindex.model.manifest import Manifest
from gitindex.store import atomic, lease, manifests, state_file
from gitindex.store.layout import Layout
from gitindex.store.state_file import StoreState

# Errors of opening or locking a database, which say nothing about its content.
_NOT_DAMAGE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
}


def find_damaged_files(layout: Layout) -> tuple[str, ...]:
    """Paths, relative to the store, of control files that are damaged; a missing state file counts too.

    Raises IncompatibleVersion for control files of another release.
    """
    damaged_paths = []
    if layout.base.exists() and state_file.read(layout) is None:
        damaged_paths.append(layout.state.relative_to(layout.base).as_posix())
    try:
        lease.read(layout)
    except StoreCorrupt:
        damaged_paths.append(layout.lease.relative_to(layout.base).as_posix())
    if _is_damaged_database(layout.control):
        damaged_paths.append(layout.control.relative_to(layout.base).as_posix())
    return tuple(damaged_paths)


def repair_files(layout: Layout, initial_state: StoreState) -> None:
    """Replace damaged control files; `initial_state` is the state of a new store."""
    lease.replace_damaged_lease(layout, manifests.highest_epoch(layout, manifests.list_ids(layout)))
    if _is_damaged_database(layout.control):
        # The database itself last: without it, SQLite ignores leftover journals.
        for suffix in ("-wal", "-shm", ""):
            Path(f"{layout.control}{suffix}").unlink(missing_ok=True)
        atomic.create_missing(layout.control)  # the next refresh creates the tables
    if state_file.read(layout) is None:
        mode = "shared" if layout.base.stat().st_mode & stat.S_ISGID else "single"
        store_state = replace(initial_state, mode=mode)
        manifest = _read_active(layout)
        state_file.write(layout, state_file.apply_publish(store_state, manifest) if manifest else store_state)


def _read_active(layout: Layout) -> Manifest | None:
    try:
        return manifests.read_active(layout)
    except StoreCorrupt:
        return None


def _is_damaged_database(path: Path) -> bool:
    """Read every page. False for a file that is missing, locked or may not be opened: it is not known to be damaged."""
    if not path.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            result = connection.execute("PRAGMA integrity_check(1)").fetchone()
            return tuple(result) != ("ok",)
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode & 0xFF not in _NOT_DAMAGE  # the low byte is the primary error code
