"""`repair`: mend the active snapshot with the smallest rebuild that is sure to work."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from gitindex.errors import IncompatibleVersion, IntegrityError, PublishBlocked
from gitindex.indexing.write import Progress
from gitindex.lifecycle import compact, control_files, repair_planner
from gitindex.lifecycle.repair_planner import RepairPlan
from gitindex.ops.codebase import Codebase, initial_store_state
from gitindex.ops.syncing.git_fallback import scan_if_git_fails
from gitindex.ops.syncing.parent_snapshot import ParentSnapshot
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_locked import lock_store, plan_on_parent, publish_plan
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.ops.syncing.sync_report import SyncReport
from gitindex.store import atomic, manifests, steps
from gitindex.view.snapshot import SnapshotView, open_active


@dataclass(frozen=True, slots=True)
class RepairReport:
    status: str
    scope: str
    damaged: tuple[str, ...]
    files_rebuilt: int
    snapshot_id: str | None


def repair_store(
    codebase: Codebase, *, dry_run: bool = False, progress: Progress = lambda _p, _d, _t: None
) -> RepairReport:
    """Find damage and mend it; `dry_run` only tells.

    Raises what a sync raises. The last good snapshot stays until the mended one is published.
    """
    steps.reach("repair.plan")
    repair_plan = _diagnose(codebase)
    if not dry_run and codebase.layout.base.exists():
        with atomic.translate_storage_errors(codebase.layout.base):
            control_files.repair_files(codebase.layout, initial_store_state(codebase))
    if dry_run or repair_plan.scope in ("none", "control"):
        return RepairReport(
            "ok", repair_plan.scope, repair_plan.damaged, 0, manifests.read_active_id(codebase.layout)
        )
    steps.reach("repair.publish")
    try:
        report = _apply_plan(codebase, repair_plan, progress)
    except (IntegrityError, PublishBlocked):
        if repair_plan.scope == "full":
            raise
    else:
        if repair_plan.scope == "full" or _diagnose(codebase).scope == "none":
            return report
    # What the small rebuild could not mend, the large one does: nobody has to be told to run it.
    return _apply_plan(codebase, replace(repair_plan, scope="full"), progress)


def _apply_plan(codebase: Codebase, repair_plan: RepairPlan, progress: Progress) -> RepairReport:
    """Publish what `repair_plan` says.

    Raises PublishBlocked or IntegrityError when the result is not a whole snapshot.
    """
    if repair_plan.scope == "full":
        report = sync(codebase, SyncOptions(full=True), progress)
        return RepairReport("ok", "full", repair_plan.damaged, report.counts["files"], report.snapshot_id)
    if repair_plan.scope == "lexical":
        compacted = compact.rebuild(codebase.layout)
        return RepairReport("ok", "lexical", repair_plan.damaged, 0, compacted.snapshot_id)

    def reindex_damaged(options: SyncOptions) -> SyncReport:
        with lock_store(codebase, options, time.monotonic()) as store, ExitStack() as stack:
            parent = _open_reduced(codebase, repair_plan, stack)
            locked_plan = stack.enter_context(plan_on_parent(store, parent))
            return publish_plan(store, locked_plan, progress)

    report = scan_if_git_fails(codebase, SyncOptions(), reindex_damaged)
    return RepairReport("ok", "files", repair_plan.damaged, len(repair_plan.paths), report.snapshot_id)


def _diagnose(codebase: Codebase) -> RepairPlan:
    """A store without any whole snapshot, or one we cannot read, needs everything anew."""
    layout = codebase.layout
    try:
        view = open_active(layout)
        if view is None:
            return RepairPlan("full" if layout.base.exists() else "none")
        with view:
            plan = repair_planner.plan(view)
            if plan.scope == "none" and manifests.read_active_id(layout) != view.manifest.snapshot_id:
                return RepairPlan("files", ("ACTIVE_SNAPSHOT",))
            damaged_control = control_files.find_damaged_files(layout)
            return (
                RepairPlan("control", damaged_control) if damaged_control and plan.scope == "none" else plan
            )
    except IncompatibleVersion:
        raise
    except IntegrityError as error:
        return RepairPlan("full", (error.message,))


def _open_reduced(codebase: Codebase, repair_plan: RepairPlan, stack: ExitStack) -> ParentSnapshot:
    view = open_active(codebase.layout)
    assert view is not None, "diagnosed a moment ago, and the lease is ours since"
    stack.enter_context(view)
    reduced_view = SnapshotView(
        codebase.layout, repair_planner.drop_damaged_segments(view, repair_plan), None, view.verifier
    )
    if view.manifest.overlay.path in repair_plan.damaged:
        reduced_view.forget_overlay()
    return ParentSnapshot(stack.enter_context(reduced_view), compare_all=True, unlist=repair_plan.paths)
