"""Removes a whole store, unless a process writes, builds or reads it (ST-5, SN-9)."""

from __future__ import annotations

import time
from contextlib import ExitStack

from gitindex.errors import LeaseHeld
from gitindex.model.ids import ulid
from gitindex.store import atomic, lease, readers, staging, stores
from gitindex.store.layout import Layout


def remove_store(layout: Layout, *, readers_wait: float = 0.0, dry_run: bool = False) -> int:
    """Remove the store and return its size in bytes; with `dry_run`, only check and return the size.

    Holds the lease and the readers lock until the store is gone. Raises LeaseHeld while another process writes, builds
    or, for `readers_wait` seconds, reads; StoreCorrupt when the lease cannot be read; StoreUnwritable.
    """
    size = atomic.tree_size(layout.base)  # before our own lease file adds to it
    with ExitStack() as stack:
        stack.enter_context(atomic.translate_storage_errors(layout.base))
        if layout.readers_lock.exists():  # else its creation never finished: no process uses it
            if dry_run:
                _refuse_writer(layout)
            else:
                stack.enter_context(lease.hold(layout, ulid()))
            _refuse_builders(layout)
            stack.enter_context(readers.lock_exclusively(layout, readers_wait))
        if not dry_run:
            stores.remove(layout)
    return size


def _refuse_writer(layout: Layout) -> None:
    lease_state = lease.read(layout)
    if lease_state is not None and not lease_state.is_stale(time.time()):
        raise lease.lease_held_error(lease_state)


def _refuse_builders(layout: Layout) -> None:
    """Refuse while compaction or refresh build, which take the lease only at the end (SN-8)."""
    for builder in staging.find_builders(layout):
        raise LeaseHeld(f"process {builder.pid} builds a snapshot of this index", hint="gitindex status")
