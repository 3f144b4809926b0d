"""The locked part of a sync: under the lease, a plan for what is active then, write, publish.

Loaded only once there is something to do: finding that there is nothing must not wait for the indexer (UI-3).
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitindex import config
from gitindex.errors import WriteVerificationFailed
from gitindex.extract import sandbox
from gitindex.extract.embed.embedders import open_embedder
from gitindex.git.repo import estimate_tracked
from gitindex.indexing.compose import build_marker
from gitindex.indexing.plan import Plan, refuse_failures
from gitindex.indexing.vectors import VectorCache, Vectors
from gitindex.indexing.write import Progress, WriteResult, WriteTask, choose_workers, write
from gitindex.model import portable
from gitindex.model.ids import ulid
from gitindex.model.manifest import Artifact, GitFailure, Manifest, Origin, Segment
from gitindex.model.settings import EmbedSettings
from gitindex.ops.codebase import Codebase, initial_store_state
from gitindex.ops.syncing.eligibility import make_policy
from gitindex.ops.syncing.git_fallback import describe_failure
from gitindex.ops.syncing.parent_snapshot import ChooseParent, ParentSnapshot, choose_parent
from gitindex.ops.syncing.sync_plan import (
    PlannedSync,
    SyncOptions,
    compute_ignore_fingerprint,
    make_plan,
    open_source,
)
from gitindex.ops.syncing.sync_report import SyncReport, make_noop_report, make_sync_report
from gitindex.segment import chunk_table
from gitindex.source.gittree import GitSource
from gitindex.source.source_file import SourceTree
from gitindex.store import atomic, lease, log, manifests, publish, state_file, steps, stores
from gitindex.store.build_progress import mark_indexing, record_failure
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView

if TYPE_CHECKING:
    from gitindex.indexing.writerpool import WriterPool


def locked_sync(
    codebase: Codebase,
    options: SyncOptions,
    progress: Progress,
    started: float,
    choose: ChooseParent = choose_parent,
    planned_sync: PlannedSync | None = None,
) -> SyncReport:
    """Sync under the lease: as `planned_sync` before it, or where that is outdated on the base that `choose` picks there."""
    layout = codebase.layout
    if stores.read_existing(layout, codebase.mode) is None:
        stores.create(layout, initial_store_state(codebase))
    txn = ulid()
    with ExitStack() as stack:
        stack.enter_context(atomic.translate_storage_errors(layout.base))
        lease_context = lease.hold(layout, txn, wait=options.lease_wait, ttl_ms=options.lease_ttl_ms)
        writer_lease = stack.enter_context(lease_context)
        snapshot_id = manifests.next_id(layout, txn)
        stack.enter_context(record_failure(layout, writer_lease))
        pool = None
        if planned_sync is not None and _is_still_current(planned_sync, writer_lease, layout):
            parent, source, plan = ParentSnapshot(planned_sync.view), planned_sync.source, planned_sync.plan
        else:
            parent = choose(codebase, options, stack)
            if parent.view is None:
                pool = _start_pool(codebase, options, stack)
            source = stack.enter_context(open_source(codebase, options, bulk=parent.view is None))
            plan = make_plan(codebase, parent.view, source, options, compare_all=parent.compare_all)
        if _is_up_to_date(parent, plan, source):
            assert parent.view is not None
            return make_noop_report(parent.view.manifest, started)
        if parent.adopt is not None and _matches_parent(parent, plan, source):
            return make_noop_report(parent.adopt(writer_lease, source.git_state), started)
        if not options.allow_degraded:
            refuse_failures(plan)
        if plan.write and pool is None:
            sandbox.start_early()
        run = SyncRun(codebase, options, writer_lease, snapshot_id, parent, source, progress, pool)
        try:
            return _write_and_publish(run, plan, started)
        except WriteVerificationFailed as error:
            log.append(layout, "publish_retried", code=error.code)
            retry_id = manifests.next_id(layout, ulid())
            return _write_and_publish(replace(run, snapshot_id=retry_id, pool=None), plan, started)


def _write_and_publish(run: SyncRun, plan: Plan, started: float) -> SyncReport:
    """Raises GateRefused when what was written is not what was planned; nothing of it is visible then."""
    planned_at = time.monotonic()
    layout = run.codebase.layout
    with (
        mark_indexing(layout, run.lease, rebuild=run.parent_view is None) as track,
        steps.record_steps() as step_times,
        publish.open_transaction(layout, run.snapshot_id, run.lease) as folder,
    ):
        task = _make_task(run, folder, track)
        outcome = write(task, plan)
        if not run.options.allow_degraded:
            refuse_failures(replace(plan, errors=outcome.errors))
        written_at = time.monotonic()
        manifest = _publish(run, outcome, {"plan": planned_at - started, "write": written_at - planned_at})
    phases = steps.phase_durations(step_times)
    return make_sync_report(
        manifest,
        outcome,
        task.vectors,
        phases,
        started,
        written_at,
        seeded_from=run.parent_snapshot.seeded_from,
        damage=_describe_damage(run.source),
    )


def _is_still_current(planned_sync: PlannedSync, writer_lease: lease.Lease, layout: Layout) -> bool:
    """May what was seen without the lease be acted upon? Only when nothing was published since git began to look:
    a sync with newer eyes must not be undone. What was edited since is the next sync's, as if this one had begun
    earlier; after a wait that would be too long ago to be what anybody expects."""
    return (
        not writer_lease.had_to_wait
        and manifests.read_active_id(layout) == planned_sync.view.manifest.snapshot_id
    )


def load() -> None:
    """Import now what a publish imports late: for a caller that has to wait for something else anyway."""
    sandbox.start_early()
    chunk_table.load()


def _is_up_to_date(parent: ParentSnapshot, plan: Plan, source: SourceTree) -> bool:
    if parent.view is None or parent.seeded_from or parent.compare_all:
        return False
    return PlannedSync(parent.view, source, plan).is_up_to_date


def _matches_parent(parent: ParentSnapshot, plan: Plan, source: SourceTree) -> bool:
    """The present tree is the very commit of the base, and clean."""
    assert parent.view is not None
    same_commit = (
        source.git_state.head_sha == parent.view.manifest.git.head_sha and not source.git_state.dirty
    )
    return same_commit and plan.is_empty and not plan.errors and not plan.overlay


@dataclass(frozen=True, slots=True)
class SyncRun:
    """One locked sync under way."""

    codebase: Codebase
    options: SyncOptions
    lease: lease.Lease
    snapshot_id: str
    parent_snapshot: ParentSnapshot
    source: SourceTree
    progress: Progress
    pool: WriterPool | None

    @property
    def parent_view(self) -> SnapshotView | None:
        return self.parent_snapshot.view


def _start_pool(codebase: Codebase, options: SyncOptions, stack: ExitStack) -> WriterPool | None:
    """Start the processes that will write a large tree: other cores are idle while git looks and we plan."""
    workers = _count_workers(options)
    if workers < 2 or codebase.repo is None or _caches_vectors(codebase.settings.embedding):
        return None
    if choose_workers(estimate_tracked(codebase.repo), workers) < 2:
        return None
    from gitindex.indexing.writerpool import WriterPool

    return stack.enter_context(WriterPool(workers))


def _count_workers(options: SyncOptions) -> int:
    return options.workers or os.cpu_count() or 1


def _caches_vectors(embedding: EmbedSettings) -> bool:
    """Are vectors worth keeping? Those of the bundled embedder are quicker made than looked up."""
    return embedding.provider not in ("none", "static")


def _make_task(run: SyncRun, folder: Path, track: Progress) -> WriteTask:
    codebase = run.codebase
    embedder = open_embedder(codebase.settings.embedding)
    use_cache = embedder is not None and _caches_vectors(codebase.settings.embedding)
    cache = VectorCache(codebase.layout.embeddings, embedder.identity) if embedder and use_cache else None
    vectors = Vectors(embedder, cache)
    fingerprint = config.marker_fingerprint(codebase.settings, vectors.dimension)
    root = portable.ROOT if run.options.portable else str(codebase.root)

    def report_progress(phase: str, done: int, total: int) -> None:
        track(phase, done, total)
        run.progress(phase, done, total)

    return WriteTask(
        folder=folder,
        snapshot_id=run.snapshot_id,
        source=run.source,
        policy=make_policy(codebase.settings, None),  # paths were judged by the plan, only content is left
        settings=codebase.settings.index,
        vectors=vectors,
        embedding=codebase.settings.embedding,
        parent=run.parent_view,
        drop_paths=run.parent_snapshot.unlist,
        build_marker=lambda counts: build_marker(root, fingerprint, counts, run.snapshot_id),
        check_lease=run.lease.check,
        workers=_count_workers(run.options),
        pool=run.pool,
        progress=report_progress,
    )


def _describe_damage(source: SourceTree) -> GitFailure | None:
    error = source.damage if isinstance(source, GitSource) else None
    return describe_failure(error) if error else None


def _next_origin(parent_origin: Origin, outcome: WriteResult) -> Origin:
    return parent_origin.amend() if outcome.written or outcome.plan.gone else parent_origin


def _publish(run: SyncRun, outcome: WriteResult, seconds: dict[str, float]) -> Manifest:
    codebase, parent = run.codebase, run.parent_view.manifest if run.parent_view else None
    verifier = run.parent_view.verifier if run.parent_view else Verifier(codebase.layout)
    timings = {name: round(value * 1000) for name, value in seconds.items()}

    def compose(segments: tuple[Segment, ...], lexical: tuple[Artifact, ...], overlay: Artifact) -> Manifest:
        return Manifest(
            snapshot_id=run.snapshot_id,
            parent_snapshot_id=parent.snapshot_id if parent else None,
            created_at=state_file.now(),
            canonical_root=str(codebase.root),
            store_id=codebase.layout.id,
            config_fingerprint=codebase.fingerprint,
            ignore_fingerprint=compute_ignore_fingerprint(codebase, run.source, run.options, parent, outcome),
            lease_epoch=run.lease.epoch,
            git=run.source.git_state,
            segments=(*(parent.segments if parent else ()), *segments),
            lexical=lexical,
            overlay=overlay,
            counts=outcome.counts,
            embedder=outcome.embedder,
            dimension=outcome.dimension,
            timings_ms={
                **timings,
                "total": sum(timings.values()) + (parent.timings_ms.get("total", 0) if parent else 0),
            },
            origin=_next_origin(parent.origin, outcome) if parent else Origin(),
            degraded=bool(outcome.errors),
            errors=outcome.errors,
            semantic=parent.semantic if parent else (),
        )

    return publish.publish(
        codebase.layout, run.lease, run.snapshot_id, outcome.staged, verifier=verifier, compose=compose
    )
