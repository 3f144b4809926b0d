"""Writes the store state `indexing`, with progress, while a first build or a full reindex runs (C-3, EN-6)."""

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

TrackProgress = Callable[[str, int, int], None]  # phase, done, total
_WRITE_INTERVAL = 0.5  # seconds between two writes of the state file


@contextmanager
def record_failure(layout: Layout, lease: Lease) -> Iterator[None]:
    """Record in the store state that the body failed, unless the lease is lost (LE-1)."""
    try:
        yield
    except GitindexError:
        with suppress(OSError, LeaseLost, LeaseHeld), lease.fence():
            previous_state = state_file.read(layout)
            if previous_state is not None:
                state_file.write(layout, replace(previous_state, last_result="failed"))
        raise


@contextmanager
def mark_indexing(layout: Layout, lease: Lease, *, rebuild: bool) -> Iterator[TrackProgress]:
    """Set the state to `indexing` while the body runs, and yield a function that records its progress.

    Without `rebuild` (an incremental sync) nothing is written, so readers are not disturbed. The function raises
    LeaseLost once the lease is lost.
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
        progress = IndexingProgress(percentage, phase, state_file.now())
        with suppress(LeaseHeld), lease.fence():  # the lease is busy: the next call writes the progress
            state_file.write(layout, replace(previous_state, state="indexing", indexing=progress))

    track("starting", 0, 0)
    try:
        yield track
    except BaseException:
        if previous_state is not None:  # after a failed reindex the last good snapshot is still active
            final_state = previous_state.state if previous_state.active_snapshot_id else "indexfailed"
            failed_state = replace(previous_state, state=final_state, last_result="failed", indexing=None)
            with suppress(LeaseLost, LeaseHeld), lease.fence():
                state_file.write(layout, failed_state)
        raise
