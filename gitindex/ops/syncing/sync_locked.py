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
from gitindex.errors import GateRefused
from gitindex.extract import sandbox
from gitindex.extract.embed.embedders import open_embedder
from gitindex.git.repo import tracked
from gitindex.indexing.compose import marker
from gitindex.indexing.plan import Plan, refuse_failures
from gitindex.indexing.vectors import VectorCache, Vectors
from gitindex.indexing.write import Outcome, Progress, Task, workers_for, write
from gitindex.model import portable
from gitindex.model.ids import ulid
from gitindex.model.manifest import Artifact, GitFailure, Manifest, Origin, Segment
from gitindex.model.settings import EmbedSettings
from gitindex.ops.codebase import Codebase, fresh_state
from gitindex.ops.syncing.eligibility import make_policy
from gitindex.ops.syncing.git_fallback import describe_failure
from gitindex.ops.syncing.parent_snapshot import Base, ChooseBase, choose_base
from gitindex.ops.syncing.sync_plan import Outlook, SyncOptions, ignore_fingerprint, make_plan, open_source
from gitindex.ops.syncing.sync_report import SyncReport, published, unchanged
from gitindex.segment import chunk_table
from gitindex.source.gittree import GitSource
from gitindex.source.source_file import Source
from gitindex.store import atomic, lease, log, manifests, publish, steps, store_state, stores
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
    choose: ChooseBase = choose_base,
    seen: Outlook | None = None,
) -> SyncReport:
    """Sync under the lease: as `seen` before it, or where that is outdated on the base that `choose` picks there."""
    layout = codebase.layout
    if stores.read_existing(layout, codebase.mode) is None:
        stores.create(layout, fresh_state(codebase))
    txn = ulid()
    with ExitStack() as stack:
        stack.enter_context(atomic.translate_storage_errors(layout.base))
        hold = lease.hold(layout, txn, wait=options.lease_wait, ttl_ms=options.lease_ttl_ms)
        held = stack.enter_context(hold)
        snapshot_id = manifests.next_id(layout, txn)
        stack.enter_context(record_failure(layout, held))
        pool = None
        if seen is not None and _current(seen, held, layout):
            base, source, plan = Base(seen.view), seen.source, seen.plan
        else:
            base = choose(codebase, options, stack)
            if base.view is None:
                pool = _start_pool(codebase, options, stack)
            source = stack.enter_context(open_source(codebase, options, bulk=base.view is None))
            plan = make_plan(codebase, base.view, source, options, whole=base.whole)
        if _settled(base, plan, source):
            assert base.view is not None
            return unchanged(base.view.manifest, started)
        if base.adopt is not None and _nothing_on_top(base, plan, source):
            return unchanged(base.adopt(held, source.state), started)
        if not options.allow_degraded:
            refuse_failures(plan)
        if plan.write and pool is None:
            sandbox.prepare()
        job = Job(codebase, options, held, snapshot_id, base, source, progress, pool)
        try:
            return _write_and_publish(job, plan, started)
        except GateRefused as error:
            log.append(layout, "publish_retried", code=error.code)
            again = manifests.next_id(layout, ulid())
            return _write_and_publish(replace(job, snapshot_id=again, pool=None), plan, started)


def _write_and_publish(job: Job, plan: Plan, started: float) -> SyncReport:
    """Raises GateRefused when what was written is not what was planned; nothing of it is visible then."""
    planned = time.monotonic()
    layout = job.codebase.layout
    with (
        mark_indexing(layout, job.lease, rebuild=job.parent is None) as track,
        steps.record_steps() as heard,
        publish.open_transaction(layout, job.snapshot_id, job.lease) as folder,
    ):
        task = _task(job, folder, track)
        outcome = write(task, plan)
        if not job.options.allow_degraded:
            refuse_failures(replace(plan, errors=outcome.errors))
        written = time.monotonic()
        manifest = _publish(job, outcome, {"plan": planned - started, "write": written - planned})
    phases = steps.phase_durations(heard)
    return published(
        manifest,
        outcome,
        task.vectors,
        phases,
        started,
        written,
        seeded_from=job.base.seeded_from,
        damage=_damage(job.source),
    )


def _current(seen: Outlook, held: lease.Lease, layout: Layout) -> bool:
    """May what was seen without the lease be acted upon? Only when nothing was published since git began to look:
    a sync with newer eyes must not be undone. What was edited since is the next sync's, as if this one had begun
    earlier; after a wait that would be too long ago to be what anybody expects."""
    return not held.had_to_wait and manifests.read_active_id(layout) == seen.view.manifest.snapshot_id


def load() -> None:
    """Import now what a publish imports late: for a caller that has to wait for something else anyway."""
    sandbox.prepare()
    chunk_table.load()


def _settled(base: Base, plan: Plan, source: Source) -> bool:
    if base.view is None or base.seeded_from or base.whole:
        return False
    return Outlook(base.view, source, plan).settled


def _nothing_on_top(base: Base, plan: Plan, source: Source) -> bool:
    """The present tree is the very commit of the base, and clean."""
    assert base.view is not None
    same = source.state.head_sha == base.view.manifest.git.head_sha and not source.state.dirty
    return same and plan.empty and not plan.errors and not plan.overlay


@dataclass(frozen=True, slots=True)
class Job:
    """One locked sync under way."""

    codebase: Codebase
    options: SyncOptions
    lease: lease.Lease
    snapshot_id: str
    base: Base
    source: Source
    progress: Progress
    pool: WriterPool | None

    @property
    def parent(self) -> SnapshotView | None:
        return self.base.view


def _start_pool(codebase: Codebase, options: SyncOptions, stack: ExitStack) -> WriterPool | None:
    """Start the processes that will write a large tree: other cores are idle while git looks and we plan."""
    workers = _workers(options)
    if workers < 2 or codebase.repo is None or _cached(codebase.settings.embedding):
        return None
    if workers_for(tracked(codebase.repo), workers) < 2:
        return None
    from gitindex.indexing.writerpool import WriterPool

    return stack.enter_context(WriterPool(workers))


def _workers(options: SyncOptions) -> int:
    return options.workers or os.cpu_count() or 1


def _cached(embedding: EmbedSettings) -> bool:
    """Are vectors worth keeping? Those of the bundled embedder are quicker made than looked up."""
    return embedding.provider not in ("none", "static")


def _task(job: Job, folder: Path, track: Progress) -> Task:
    codebase = job.codebase
    embedder = open_embedder(codebase.settings.embedding)
    cached = embedder is not None and _cached(codebase.settings.embedding)
    cache = VectorCache(codebase.layout.embeddings, embedder.identity) if embedder and cached else None
    vectors = Vectors(embedder, cache)
    fingerprint = config.marker_fingerprint(codebase.settings, vectors.dimension)
    root = portable.ROOT if job.options.portable else str(codebase.root)

    def report(phase: str, done: int, total: int) -> None:
        track(phase, done, total)
        job.progress(phase, done, total)

    return Task(
        folder=folder,
        snapshot_id=job.snapshot_id,
        source=job.source,
        policy=make_policy(codebase.settings, None),  # paths were judged by the plan, only content is left
        settings=codebase.settings.index,
        vectors=vectors,
        embedding=codebase.settings.embedding,
        parent=job.parent,
        unlist=job.base.unlist,
        marker=lambda counts: marker(root, fingerprint, counts, job.snapshot_id),
        check=job.lease.check,
        workers=_workers(job.options),
        pool=job.pool,
        progress=report,
    )


def _damage(source: Source) -> GitFailure | None:
    found = source.damage if isinstance(source, GitSource) else None
    return describe_failure(found) if found else None


def _origin(before: Origin, outcome: Outcome) -> Origin:
    return before.amend() if outcome.written or outcome.plan.gone else before


def _publish(job: Job, outcome: Outcome, seconds: dict[str, float]) -> Manifest:
    codebase, parent = job.codebase, job.parent.manifest if job.parent else None
    verifier = job.parent.verifier if job.parent else Verifier(codebase.layout)
    spent = {name: round(value * 1000) for name, value in seconds.items()}

    def compose(segments: tuple[Segment, ...], words: tuple[Artifact, ...], overlay: Artifact) -> Manifest:
        return Manifest(
            snapshot_id=job.snapshot_id,
            parent_snapshot_id=parent.snapshot_id if parent else None,
            created_at=store_state.now(),
            canonical_root=str(codebase.root),
            store_id=codebase.layout.id,
            config_fingerprint=codebase.fingerprint,
            ignore_fingerprint=ignore_fingerprint(codebase, job.source, job.options, parent, outcome),
            lease_epoch=job.lease.epoch,
            git=job.source.state,
            segments=(*(parent.segments if parent else ()), *segments),
            lexical=words,
            overlay=overlay,
            counts=outcome.counts,
            embedder=outcome.embedder,
            dimension=outcome.dimension,
            timings_ms={
                **spent,
                "total": sum(spent.values()) + (parent.timings_ms.get("total", 0) if parent else 0),
            },
            origin=_origin(parent.origin, outcome) if parent else Origin(),
            degraded=bool(outcome.errors),
            errors=outcome.errors,
            semantic=parent.semantic if parent else (),
        )

    return publish.publish(codebase.layout, job.lease, job.snapshot_id, outcome.staged, verifier, compose)
