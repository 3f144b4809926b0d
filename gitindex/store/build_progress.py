"""State `indexing` while a snapshot is made from nothing, with progress others can read (C-3, EN-6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from gitindex.errors import GitindexError, LeaseHeld, LeaseLost
from gitindex.store import state_file
from gitindex.store.layout import Layout
from gitindex.store.lease import Lease
from gitindex.store.state_file import IndexingProgress

_WRITE_INTERVAL = 0.5


@contextmanager
def record_failure(layout: Layout, lease: Lease) -> Iterator[None]:
    """Remember that the body failed. Who lost the lease writes nothing any more (LE-1)."""
    try:
        yield
    except GitindexError:
        with suppress(OSError, LeaseLost, LeaseHeld), lease.fence():
            previous_state = state_file.read(layout)
            if previous_state is not None:
                state_file.write(layout, replace(previous_state, last_result="failed"))
        raise


@contextmanager
def mark_indexing(
    layout: Layout, lease: Lease, *, rebuild: bool
) -> Iterator[Callable[[str, int, int], None]]:
    """Mark a create or reindex for the body; an incremental sync leaves readers alone and marks nothing.

    Whoever lost the lease marks nothing any more: tracking then raises LeaseLost.
    """
    if not rebuild:
        yield lambda _phase, _done, _total: None
        return
    previous_state = state_file.read(layout)
    last_written = 0.0

    def track(phase: str, done: int, total: int) -> None:
        nonlocal last_written
        if previous_state is None or time.monotonic() - last_written < _WRITE_INTERVAL:
            return
        last_written = time.monotonic()
        percentage = round(100 * done / total, 1) if total else None
        with suppress(LeaseHeld), lease.fence():  # busy with the lease: progress can be told later
            state_file.write(
                layout,
                replace(
                    previous_state,
                    state="indexing",
                    indexing=IndexingProgress(percentage, phase, state_file.now()),
                ),
            )

    track("starting", 0, 0)
    try:
        yield track
    except BaseException:
        if previous_state is not None:  # a failed reindex leaves the last good snapshot as good as it was
            final_state = previous_state.state if previous_state.active_snapshot_id else "indexfailed"
            with suppress(LeaseLost, LeaseHeld), lease.fence():
                state_file.write(
                    layout, replace(previous_state, state=final_state, last_result="failed", indexing=None)
                )
        raise
