"""`sync`: bring the index to the present tree and publish it as one snapshot.

Plan, lease, plan again on what is active then, write, publish. Nothing to do costs no lease and no write.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gitindex.errors import GitindexError
from gitindex.ops.codebase import Codebase
from gitindex.ops.report import SyncReport, elapsed, unchanged
from gitindex.ops.target import SyncOptions, make_plan, moved, open_source
from gitindex.store import log, state
from gitindex.view.snapshot import open_active

if TYPE_CHECKING:
    from gitindex.indexing.write import Progress


def sync(
    codebase: Codebase, options: SyncOptions | None = None, progress: Progress = lambda _p, _d, _t: None
) -> SyncReport:
    """Index what changed and publish it.

    Raises LeaseHeld, LeaseLost, PublishBlocked, GitError, IntegrityError, StorageFull, StoreUnwritable.
    """
    chosen = options or SyncOptions()
    started = time.monotonic()
    report = None if chosen.full else _nothing_to_do(codebase, chosen, started)
    if report is not None:
        return report
    from gitindex.ops.locked import locked_sync  # late: the indexer is loaded only when there is work (UI-3)

    try:
        report = locked_sync(codebase, chosen, progress, started)
    except GitindexError as error:
        log.append(codebase.layout, "sync_failed", code=error.code, elapsed_ms=elapsed(started))
        raise
    log.append(
        codebase.layout,
        "sync",
        snapshot_id=report.snapshot_id,
        noop=report.noop,
        changes=report.changes,
        timings_ms=report.timings_ms,
        phases_ms=report.phases_ms,
        embedded=report.embedded,
        reused=report.reused,
        elapsed_ms=report.elapsed_ms,
    )
    return report


def _nothing_to_do(codebase: Codebase, options: SyncOptions, started: float) -> SyncReport | None:
    """A report when the active snapshot already is the present tree; needs no lease."""
    with ExitStack() as stack:
        view = open_active(codebase.layout)
        if view is None:
            return None
        stack.enter_context(view)
        source = stack.enter_context(open_source(codebase, options, bulk=False))
        plan = make_plan(codebase, view, source, options)
        if not plan.empty or plan.errors or moved(view.manifest, source):
            return None
        state.touch_used(codebase.layout)
        return unchanged(view.manifest, started)
