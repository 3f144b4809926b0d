"""`sync`: bring the index to the present tree and publish it as one snapshot.

Plan, lease, plan again on what is active then, write, publish. Nothing to do costs no lease and no write.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gitindex.errors import GitindexError, IncompatibleVersion, IntegrityError
from gitindex.ops.codebase import Codebase
from gitindex.ops.report import SyncReport, elapsed, unchanged
from gitindex.ops.target import SyncOptions, make_plan, moved, open_source
from gitindex.store import log, state, stores
from gitindex.view.snapshot import SnapshotView, open_active

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
        with _exact_facts(codebase, chosen) as before:
            report = locked_sync(codebase, chosen, progress, started)
            if before is not None:
                report = _carried(codebase, before, report)
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


@contextmanager
def _exact_facts(codebase: Codebase, options: SyncOptions) -> Iterator[SnapshotView | None]:
    """The snapshot before a full reindex, when it holds exact facts that can be read."""
    with ExitStack() as stack:
        found = None
        if options.full:
            with suppress(GitindexError):  # a damaged store is why one reindexes
                view = open_active(codebase.layout)
                found = view if view is not None and stack.enter_context(view).scip else None
        yield found


def _carried(codebase: Codebase, before: SnapshotView, report: SyncReport) -> SyncReport:
    from gitindex.semantic.carrying import carry

    try:
        with stores.writing(codebase.mode):
            found = carry(codebase.layout, before)
    except (IntegrityError, IncompatibleVersion) as error:
        log.append(codebase.layout, "exact_facts_lost", code=error.code)
        return report
    return report if found is None else replace(report, snapshot_id=found)


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
