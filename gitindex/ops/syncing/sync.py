"""`sync`: bring the index to the present tree and publish it as one snapshot.

Read `git status`, plan, take the lease, write, publish; plan again when another writer published first. Where nothing
changed, no lease is taken, nothing is written and the indexer is not imported. `git status` runs while the caller and
the indexer load.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gitindex.errors import GitindexError, IncompatibleVersion, IntegrityError
from gitindex.git.status import PendingStatus
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.git_fallback import scan_if_git_fails
from gitindex.ops.syncing.sync_plan import PlannedSync, SyncOptions, is_commit_only, make_plan, open_source
from gitindex.ops.syncing.sync_report import SyncReport, elapsed_ms, make_noop_report
from gitindex.ops.syncing.worktree_status import EarlyStatus
from gitindex.source.gittree import differs_from_overlay
from gitindex.store import compatibility, log, state_file
from gitindex.view.snapshot import SnapshotView, open_active

if TYPE_CHECKING:
    from gitindex.indexing.write import Progress


def sync(
    codebase: Codebase,
    options: SyncOptions | None = None,
    progress: Progress = lambda _p, _d, _t: None,
    early_status: EarlyStatus | None = None,
) -> SyncReport:
    """Index what changed and publish it. `early_status` is a `git status` that the caller started before.

    Where git fails, the files are scanned instead, and the report says so (C-1).

    Raises LeaseHeld, LeaseLost, PublishBlocked, GitError, IntegrityError, IncompatibleVersion, StorageFull,
    StoreUnwritable.
    """
    started = time.monotonic()
    return scan_if_git_fails(
        codebase,
        options or SyncOptions(),
        lambda sync_options: _sync(codebase, sync_options, progress, early_status, started),
    )


def _sync(
    codebase: Codebase,
    options: SyncOptions,
    progress: Progress,
    early_status: EarlyStatus | None,
    started: float,
) -> SyncReport:
    with ExitStack() as stack:
        planned_sync = None if options.full else _plan_sync(codebase, options, early_status, stack)
        if planned_sync is not None and planned_sync.is_up_to_date:
            compatibility.check_control_files(codebase.layout)
            state_file.touch_last_used(codebase.layout)
            return make_noop_report(planned_sync.view.manifest, started)
        return _publish(codebase, options, progress, started, planned_sync)


def _plan_sync(
    codebase: Codebase, options: SyncOptions, early_status: EarlyStatus | None, stack: ExitStack
) -> PlannedSync | None:
    """What to do on top of the active snapshot, planned without the lease; None when there is no snapshot."""
    view = open_active(codebase.layout)
    if view is None:
        return None
    stack.enter_context(view)
    pending_status = _open_status(codebase, options, view, early_status, stack)
    if pending_status is not None and _has_tracked_changes(codebase, view, pending_status):
        # Git still searches for untracked files: import the indexer meanwhile.
        from gitindex.ops.syncing import sync_locked

        sync_locked.load()
    source = stack.enter_context(open_source(codebase, options, bulk=False, pending_status=pending_status))
    return PlannedSync(view, source, make_plan(codebase, view, source, options))


def _open_status(
    codebase: Codebase,
    options: SyncOptions,
    view: SnapshotView,
    early_status: EarlyStatus | None,
    stack: ExitStack,
) -> PendingStatus | None:
    if codebase.repo is None or options.without_git is not None or is_commit_only(codebase, options):
        return None
    if early_status is not None and early_status.snapshot_id == view.manifest.snapshot_id:
        return early_status.pending
    return stack.enter_context(PendingStatus(codebase.repo, untracked=codebase.settings.index.untracked))


def _has_tracked_changes(codebase: Codebase, view: SnapshotView, pending_status: PendingStatus) -> bool:
    """Whether HEAD and the tracked files alone show that there is something to index."""
    assert codebase.repo is not None
    if pending_status.tracked_status.commit != view.manifest.git.head_sha:
        return True
    return differs_from_overlay(
        codebase.repo,
        pending_status.tracked_status,
        view.overlay(),
        codebase.settings.index.limits.file_bytes,
    )


def _publish(
    codebase: Codebase,
    options: SyncOptions,
    progress: Progress,
    started: float,
    planned_sync: PlannedSync | None,
) -> SyncReport:
    # Late: the indexer is imported only when there is something to index (UI-3).
    from gitindex.ops.syncing.sync_locked import locked_sync

    try:
        with _open_exact_facts(codebase, options) as previous:
            report = locked_sync(codebase, options, progress, started, planned_sync=planned_sync)
            if previous is not None:
                report = _carry_exact_facts(codebase, previous, report)
    except GitindexError as error:
        log.append(codebase.layout, "sync_failed", code=error.code, elapsed_ms=elapsed_ms(started))
        raise
    log.append(
        codebase.layout,
        "sync",
        snapshot_id=report.snapshot_id,
        noop=report.noop,
        git_failure=report.fallback.code if report.fallback else None,
        changes=report.changes,
        timings_ms=report.timings_ms,
        phases_ms=report.phases_ms,
        embedded=report.embedded,
        reused=report.reused,
        elapsed_ms=report.elapsed_ms,
    )
    return report


@contextmanager
def _open_exact_facts(codebase: Codebase, options: SyncOptions) -> Iterator[SnapshotView | None]:
    """The snapshot before a full reindex, where it holds readable exact facts; None for any other sync."""
    with ExitStack() as stack:
        previous = None
        if options.full:
            with suppress(GitindexError):  # a damaged store is why one reindexes
                view = open_active(codebase.layout)
                previous = view if view is not None and stack.enter_context(view).scip else None
        yield previous


def _carry_exact_facts(codebase: Codebase, previous: SnapshotView, report: SyncReport) -> SyncReport:
    from gitindex.semantic.carry_over import carry_documents

    try:
        carried_id = carry_documents(codebase.layout, previous)
    except (IntegrityError, IncompatibleVersion) as error:
        log.append(codebase.layout, "exact_facts_lost", code=error.code)
        return report
    return report if carried_id is None else replace(report, snapshot_id=carried_id)
