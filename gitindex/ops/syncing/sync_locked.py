"""The part of a sync that needs the lease: lock the store, plan on a parent snapshot, write, publish.

`locked_sync` does all of it for the active snapshot. A build, a fetch and a repair bring a parent of their own: they
call `lock_store`, open the parent, then `plan_on_parent` and `publish_plan`.

Imported only when there is something to do: finding that there is nothing must not wait for the indexer (UI-3).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
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
from gitindex.model.frozen import frozen
from gitindex.model.ids import ulid
from gitindex.model.manifest import Artifact, GitFailure, Manifest, Origin, Segment
from gitindex.model.settings import EmbedSettings
from gitindex.ops.codebase import Codebase, initial_store_state
from gitindex.ops.syncing.eligibility import make_policy
from gitindex.ops.syncing.git_fallback import describe_failure
from gitindex.ops.syncing.parent_snapshot import ParentSnapshot, open_parent
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
from gitindex.store.lease import Lease
from gitindex.view.snapshot import SnapshotView

if TYPE_CHECKING:
    from gitindex.indexing.writerpool import WriterPool


@frozen
class LockedStore:
    """A store whose lease this process holds, for one sync with these options."""

    codebase: Codebase
    options: SyncOptions
    lease: Lease
    snapshot_id: str  # of the snapshot to publish
    started: float  # time.monotonic() when the sync began, before it waited for the lease

    @property
    def layout(self) -> Layout:
        return self.codebase.layout

    def renew_snapshot_id(self) -> LockedStore:
        """For a second attempt: the first one may have left files under its own id."""
        return replace(self, snapshot_id=manifests.next_id(self.layout, ulid()))


@frozen
class LockedPlan:
    """What a sync does on top of `parent`, planned under the lease or still valid under it."""

    parent: ParentSnapshot
    source: SourceTree
    plan: Plan
    pool: WriterPool | None = None

    @property
    def is_up_to_date(self) -> bool:
        """The parent is active, and is the present tree."""
        if self.parent.view is None or self.parent.seeded_from or self.parent.compare_all:
            return False
        return PlannedSync(self.parent.view, self.source, self.plan).is_up_to_date

    @property
    def matches_parent(self) -> bool:
        """The present tree is the very commit of the parent, and clean."""
        if self.parent.view is None:
            return False
        git_state = self.source.git_state
        is_same_commit = git_state.head_sha == self.parent.view.manifest.git.head_sha and not git_state.dirty
        return is_same_commit and self.plan.is_empty and not self.plan.errors and not self.plan.overlay


def locked_sync(
    codebase: Codebase,
    options: SyncOptions,
    progress: Progress,
    started: float,
    planned_sync: PlannedSync | None = None,
) -> SyncReport:
    """Sync under the lease: carry out `planned_sync`, or plan again on the parent that is active then."""
    with lock_store(codebase, options, started) as store, ExitStack() as stack:
        if planned_sync is not None and _is_still_current(planned_sync, store):
            parent = ParentSnapshot(planned_sync.view)
            locked_plan = LockedPlan(parent, planned_sync.source, planned_sync.plan)
        else:
            parent = stack.enter_context(open_parent(codebase, options))
            locked_plan = stack.enter_context(plan_on_parent(store, parent))
        return publish_plan(store, locked_plan, progress)


@contextmanager
def lock_store(codebase: Codebase, options: SyncOptions, started: float) -> Iterator[LockedStore]:
    """Create the store where there is none, and hold its lease for the body.

    Raises LeaseHeld, LeaseLost, StorageFull, StoreUnwritable. An error of the body is recorded in the store's state.
    """
    layout = codebase.layout
    if stores.read_existing(layout, codebase.mode) is None:
        stores.create(layout, initial_store_state(codebase))
    txn = ulid()
    with (
        atomic.translate_storage_errors(layout.base),
        lease.hold(layout, txn, wait=options.lease_wait, ttl_ms=options.lease_ttl_ms) as writer_lease,
    ):
        snapshot_id = manifests.next_id(layout, txn)
        with record_failure(layout, writer_lease):
            yield LockedStore(codebase, options, writer_lease, snapshot_id, started)


@contextmanager
def plan_on_parent(store: LockedStore, parent: ParentSnapshot) -> Iterator[LockedPlan]:
    """Open the tree to index and compare it with `parent`; starts the writer pool where there is no parent."""
    codebase, options = store.codebase, store.options
    with ExitStack() as stack:
        pool = _start_pool(codebase, options, stack) if parent.view is None else None
        source = stack.enter_context(open_source(codebase, options, bulk=parent.view is None))
        plan = make_plan(codebase, parent.view, source, options, compare_all=parent.compare_all)
        yield LockedPlan(parent, source, plan, pool)


def publish_plan(store: LockedStore, locked_plan: LockedPlan, progress: Progress) -> SyncReport:
    """Write and publish what is planned; nothing where the parent is active and up to date."""
    if locked_plan.is_up_to_date:
        assert locked_plan.parent.view is not None
        return make_noop_report(locked_plan.parent.view.manifest, store.started)
    if not store.options.allow_degraded:
        refuse_failures(locked_plan.plan)
    if locked_plan.plan.write and locked_plan.pool is None:
        sandbox.start_early()
    try:
        return _write_and_publish(SyncRun(store, locked_plan, progress))
    except WriteVerificationFailed as error:
        log.append(store.layout, "publish_retried", code=error.code)
        retry_plan = replace(locked_plan, pool=None)
        return _write_and_publish(SyncRun(store.renew_snapshot_id(), retry_plan, progress))


@frozen
class SyncRun:
    """One attempt to write and publish a plan."""

    store: LockedStore
    locked_plan: LockedPlan
    progress: Progress

    @property
    def parent_view(self) -> SnapshotView | None:
        return self.locked_plan.parent.view

    @property
    def parent_manifest(self) -> Manifest | None:
        return self.parent_view.manifest if self.parent_view else None


def _write_and_publish(run: SyncRun) -> SyncReport:
    """Raises WriteVerificationFailed when what was written is not what was planned; none of it is visible then."""
    planned_at = time.monotonic()
    store, plan = run.store, run.locked_plan.plan
    with (
        mark_indexing(store.layout, store.lease, rebuild=run.parent_view is None) as track,
        steps.record_steps() as step_times,
        publish.open_transaction(store.layout, store.snapshot_id, store.lease) as folder,
    ):
        task = _make_task(run, folder, track)
        outcome = write(task, plan)
        if not store.options.allow_degraded:
            refuse_failures(replace(plan, errors=outcome.errors))
        written_at = time.monotonic()
        seconds = {"plan": planned_at - store.started, "write": written_at - planned_at}
        manifest = _publish(run, outcome, seconds)
    return make_sync_report(
        manifest=manifest,
        outcome=outcome,
        vectors=task.vectors,
        phases=steps.phase_durations(step_times),
        started=store.started,
        written_at=written_at,
        seeded_from=run.locked_plan.parent.seeded_from,
        damage=_describe_damage(run.locked_plan.source),
    )


def _is_still_current(planned_sync: PlannedSync, store: LockedStore) -> bool:
    """Whether a plan made without the lease may be carried out under it.

    A plan made before another publish is outdated: carrying it out would undo that publish. After a wait for the lease
    it is made again as well, because the working tree may have changed for longer than anybody expects; edits during a
    sync that did not wait are left to the next one.
    """
    return (
        not store.lease.had_to_wait
        and manifests.read_active_id(store.layout) == planned_sync.view.manifest.snapshot_id
    )


def load() -> None:
    """Import now what a publish imports late, for a caller that waits for `git status` anyway."""
    sandbox.start_early()
    chunk_table.load()


def _start_pool(codebase: Codebase, options: SyncOptions, stack: ExitStack) -> WriterPool | None:
    """Start the writers of a large tree early: the other cores are idle while git runs and the plan is made."""
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
    """Whether the vectors are cached: computing those of the bundled embedder is faster than looking them up."""
    return embedding.provider not in ("none", "static")


def _make_task(run: SyncRun, folder: Path, track: Progress) -> WriteTask:
    store, codebase = run.store, run.store.codebase
    embedder = open_embedder(codebase.settings.embedding)
    use_cache = embedder is not None and _caches_vectors(codebase.settings.embedding)
    cache = VectorCache(store.layout.embeddings, embedder.identity) if embedder and use_cache else None
    vectors = Vectors(embedder, cache)
    fingerprint = config.marker_fingerprint(codebase.settings, vectors.dimension)
    root = portable.ROOT if store.options.portable else str(codebase.root)

    def report_progress(phase: str, done: int, total: int) -> None:
        track(phase, done, total)
        run.progress(phase, done, total)

    return WriteTask(
        folder=folder,
        snapshot_id=store.snapshot_id,
        source=run.locked_plan.source,
        policy=make_policy(
            codebase.settings, None
        ),  # the plan applied the ignore rules; only content is left
        settings=codebase.settings.index,
        vectors=vectors,
        embedding=codebase.settings.embedding,
        parent=run.parent_view,
        drop_paths=run.locked_plan.parent.unlist,
        build_marker=lambda counts: build_marker(root, fingerprint, counts, store.snapshot_id),
        check_lease=store.lease.check,
        workers=_count_workers(store.options),
        pool=run.locked_plan.pool,
        progress=report_progress,
    )


def _describe_damage(source: SourceTree) -> GitFailure | None:
    error = source.damage if isinstance(source, GitSource) else None
    return describe_failure(error) if error else None


def _next_origin(parent_origin: Origin, outcome: WriteResult) -> Origin:
    return parent_origin.amend() if outcome.written or outcome.plan.gone else parent_origin


def _publish(run: SyncRun, outcome: WriteResult, seconds: dict[str, float]) -> Manifest:
    store, codebase, parent = run.store, run.store.codebase, run.parent_manifest
    source = run.locked_plan.source
    timings = {name: round(value * 1000) for name, value in seconds.items()}
    parent_total = parent.timings_ms.get("total", 0) if parent else 0

    # A callback, because the sizes and hashes of the new files exist only after `publish` moved them into place.
    def compose(segments: tuple[Segment, ...], lexical: tuple[Artifact, ...], overlay: Artifact) -> Manifest:
        return Manifest(
            snapshot_id=store.snapshot_id,
            parent_snapshot_id=parent.snapshot_id if parent else None,
            created_at=state_file.now(),
            canonical_root=str(codebase.root),
            store_id=store.layout.id,
            config_fingerprint=codebase.fingerprint,
            ignore_fingerprint=compute_ignore_fingerprint(codebase, source, store.options, parent, outcome),
            lease_epoch=store.lease.epoch,
            git=source.git_state,
            segments=(*(parent.segments if parent else ()), *segments),
            lexical=lexical,
            overlay=overlay,
            counts=outcome.counts,
            embedder=outcome.embedder,
            dimension=outcome.dimension,
            timings_ms={**timings, "total": sum(timings.values()) + parent_total},
            origin=_next_origin(parent.origin, outcome) if parent else Origin(),
            degraded=bool(outcome.errors),
            errors=outcome.errors,
            semantic=parent.semantic if parent else (),
        )

    return publish.publish(
        layout=store.layout,
        lease=store.lease,
        snapshot_id=store.snapshot_id,
        staged=outcome.staged,
        verifier=run.parent_view.verifier if run.parent_view else Verifier(store.layout),
        compose=compose,
    )
