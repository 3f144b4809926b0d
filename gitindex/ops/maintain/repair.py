"""`repair`: mend the active snapshot with the smallest rebuild that is sure to work."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from gitindex.errors import IncompatibleVersion, IntegrityError, PublishBlocked
from gitindex.indexing.write import Progress
from gitindex.lifecycle import compact, control_files, repair_plan
from gitindex.lifecycle.repair_plan import RepairPlan
from gitindex.ops.codebase import Codebase, fresh_state
from gitindex.ops.syncing.git_fallback import scan_if_git_fails
from gitindex.ops.syncing.parent_snapshot import Base
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_locked import locked_sync
from gitindex.ops.syncing.sync_plan import SyncOptions
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
    chosen = _diagnose(codebase)
    if not dry_run and codebase.layout.base.exists():
        with atomic.translate_storage_errors(codebase.layout.base):
            control_files.mend(codebase.layout, fresh_state(codebase))
    if dry_run or chosen.scope in ("none", "control"):
        return RepairReport("ok", chosen.scope, chosen.damaged, 0, manifests.read_active_id(codebase.layout))
    steps.reach("repair.publish")
    try:
        done = _mend(codebase, chosen, progress)
    except (IntegrityError, PublishBlocked):
        if chosen.scope == "full":
            raise
    else:
        if chosen.scope == "full" or _diagnose(codebase).scope == "none":
            return done
    # What the small rebuild could not mend, the large one does: nobody has to be told to run it.
    return _mend(codebase, replace(chosen, scope="full"), progress)


def _mend(codebase: Codebase, chosen: RepairPlan, progress: Progress) -> RepairReport:
    """Publish what `chosen` says. Raises PublishBlocked or IntegrityError when that does not make a whole snapshot."""
    if chosen.scope == "full":
        report = sync(codebase, SyncOptions(full=True), progress)
        return RepairReport("ok", "full", chosen.damaged, report.counts["files"], report.snapshot_id)
    if chosen.scope == "lexical":
        done = compact.rebuild(codebase.layout)
        return RepairReport("ok", "lexical", chosen.damaged, 0, done.snapshot_id)

    def choose(_codebase: Codebase, _options: SyncOptions, stack: ExitStack) -> Base:
        return _reduced(codebase, chosen, stack)

    report = scan_if_git_fails(
        codebase,
        SyncOptions(),
        lambda options: locked_sync(codebase, options, progress, time.monotonic(), choose),
    )
    return RepairReport("ok", "files", chosen.damaged, len(chosen.paths), report.snapshot_id)


def _diagnose(codebase: Codebase) -> RepairPlan:
    """A store without any whole snapshot, or one we cannot read, needs everything anew."""
    layout = codebase.layout
    try:
        view = open_active(layout)
        if view is None:
            return RepairPlan("full" if layout.base.exists() else "none")
        with view:
            found = repair_plan.plan(view)
            if found.scope == "none" and manifests.read_active_id(layout) != view.manifest.snapshot_id:
                return RepairPlan("files", ("ACTIVE_SNAPSHOT",))
            small = control_files.damaged(layout)
            return RepairPlan("control", small) if small and found.scope == "none" else found
    except IncompatibleVersion:
        raise
    except IntegrityError as error:
        return RepairPlan("full", (error.message,))


def _reduced(codebase: Codebase, chosen: RepairPlan, stack: ExitStack) -> Base:
    view = open_active(codebase.layout)
    assert view is not None, "diagnosed a moment ago, and the lease is ours since"
    stack.enter_context(view)
    left = SnapshotView(codebase.layout, repair_plan.reduced(view, chosen), None, view.verifier)
    if view.manifest.overlay.path in chosen.damaged:
        left.forget_overlay()
    return Base(stack.enter_context(left), whole=True, unlist=chosen.paths)
