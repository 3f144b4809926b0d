"""State `indexing` while a snapshot is made from nothing, with progress others can read (C-3, EN-6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from gitindex.errors import GitindexError, LeaseHeld, LeaseLost
from gitindex.store import store_state
from gitindex.store.layout import Layout
from gitindex.store.lease import Lease
from gitindex.store.store_state import Indexing

_EVERY = 0.5


@contextmanager
def failure_noted(layout: Layout, lease: Lease) -> Iterator[None]:
    """Remember that the body failed. Who lost the lease writes nothing any more (LE-1)."""
    try:
        yield
    except GitindexError:
        with suppress(OSError, LeaseLost, LeaseHeld), lease.fenced():
            before = store_state.read(layout)
            if before is not None:
                store_state.write(layout, replace(before, last_result="failed"))
        raise


@contextmanager
def indexing_state(
    layout: Layout, lease: Lease, *, rebuild: bool
) -> Iterator[Callable[[str, int, int], None]]:
    """Mark a create or reindex for the body; an incremental sync leaves readers alone and marks nothing.

    Whoever lost the lease marks nothing any more: tracking then raises LeaseLost.
    """
    if not rebuild:
        yield lambda _phase, _done, _total: None
        return
    before = store_state.read(layout)
    last = 0.0

    def track(phase: str, done: int, total: int) -> None:
        nonlocal last
        if before is None or time.monotonic() - last < _EVERY:
            return
        last = time.monotonic()
        share = round(100 * done / total, 1) if total else None
        with suppress(LeaseHeld), lease.fenced():  # busy with the lease: progress can be told later
            store_state.write(
                layout, replace(before, state="indexing", indexing=Indexing(share, phase, store_state.now()))
            )

    track("starting", 0, 0)
    try:
        yield track
    except BaseException:
        if before is not None:  # a failed reindex leaves the last good snapshot as good as it was
            after = before.state if before.active_snapshot_id else "indexfailed"
            with suppress(LeaseLost, LeaseHeld), lease.fenced():
                store_state.write(layout, replace(before, state=after, last_result="failed", indexing=None))
        raise
