"""`sync`: bring the index to the present tree and publish it as one snapshot.

Plan, lease, plan again on what is active then, write, publish. Nothing to do costs no lease and no write.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace

from gitindex import config
from gitindex.errors import GitindexError, IntegrityError
from gitindex.extract.embed.registry import open_embedder
from gitindex.files.ignore import fingerprint as ignore_fingerprint
from gitindex.indexing.compose import marker
from gitindex.indexing.plan import Plan, Planner, refuse_failures
from gitindex.indexing.vectors import VectorCache, Vectors
from gitindex.indexing.write import Outcome, Progress, Task, write
from gitindex.model import portable
from gitindex.model.changes import ChangeSet
from gitindex.model.ids import blob_id, ulid
from gitindex.model.manifest import Artifact, Counts, FileError, Manifest, Origin, Segment
from gitindex.ops.codebase import Codebase, fresh_state, make_policy, read_root_file
from gitindex.source.candidate import Source
from gitindex.source.directory import DirectorySource
from gitindex.source.gittree import GitSource, open_commit, open_worktree
from gitindex.store import atomic, clone, lease, log, publish, state, stores
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.store.progress import indexing_state
from gitindex.view.snapshot import SnapshotView, open_active

LEASE_WAIT = 30.0


@dataclass(frozen=True, slots=True)
class SyncOptions:
    full: bool = False  # write every file anew
    commit_only: bool = False  # `rev` without the working tree
    rev: str = "HEAD"
    allow_degraded: bool = False
    lease_wait: float = LEASE_WAIT
    workers: int = 0  # 0: as many as cores
    lease_ttl_ms: int = lease.TTL_MS
    portable: bool = False  # the marker names no path of this machine: the snapshot is for others
    share: Callable[[str], bool] | None = None  # the paths to write; None: all (RE-8)


@dataclass(frozen=True, slots=True)
class SyncReport:
    status: str
    snapshot_id: str
    parent_snapshot_id: str | None
    noop: bool
    changes: dict[str, int]
    counts: dict[str, int]
    elapsed_ms: int
    timings_ms: dict[str, int]
    commit: str | None
    degraded: bool
    errors: tuple[FileError, ...]
    seeded_from: str | None = None


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
    try:
        report = locked_sync(codebase, chosen, progress, started)
    except GitindexError as error:
        log.append(codebase.layout, "sync_failed", code=error.code, elapsed_ms=_elapsed(started))
        raise
    log.append(
        codebase.layout,
        "sync",
        snapshot_id=report.snapshot_id,
        noop=report.noop,
        changes=report.changes,
        timings_ms=report.timings_ms,
        elapsed_ms=report.elapsed_ms,
    )
    return report


def open_source(codebase: Codebase, options: SyncOptions, *, bulk: bool) -> Source:
    limit = codebase.settings.index.limits.file_bytes
    if codebase.repo is None:
        return DirectorySource(codebase.root, max_bytes=limit)
    if options.commit_only:
        return open_commit(codebase.repo, options.rev, max_bytes=limit, bulk=bulk)
    untracked = codebase.settings.index.untracked
    nested = codebase.settings.index.submodules
    return open_worktree(codebase.repo, untracked=untracked, max_bytes=limit, nested=nested, bulk=bulk)


def _nothing_to_do(codebase: Codebase, options: SyncOptions, started: float) -> SyncReport | None:
    """A report when the active snapshot already is the present tree; needs no lease."""
    with ExitStack() as stack:
        view = open_active(codebase.layout)
        if view is None:
            return None
        stack.enter_context(view)
        source = stack.enter_context(open_source(codebase, options, bulk=False))
        plan = make_plan(codebase, view, source, options)
        if not plan.empty or plan.errors or _moved(view.manifest, source):
            return None
        state.touch_used(codebase.layout)
        return _noop(view.manifest, started)


def make_plan(
    codebase: Codebase,
    view: SnapshotView | None,
    source: Source,
    options: SyncOptions,
    *,
    whole: bool = False,
) -> Plan:
    rules = _ignore_bytes(codebase, source, options)
    planner = Planner(view, source, make_policy(codebase.settings, rules))
    plan = planner.plan(whole=whole or (view is not None and _rules_changed(view, source, rules)))
    if options.share is None:
        return plan
    return replace(plan, write=tuple(work for work in plan.write if options.share(work.key)))


def _ignore_bytes(codebase: Codebase, source: Source, options: SyncOptions) -> bytes | None:
    if options.commit_only and isinstance(source, GitSource):
        entry = source.entry(config.IGNORE_NAME.encode())
        return source.blob(entry.blob) if entry else None
    return read_root_file(codebase.root, config.IGNORE_NAME)


def _rules_changed(view: SnapshotView, source: Source, rules: bytes | None) -> bool:
    """Other ignore rules may change the fate of any path."""
    record = view.record(config.IGNORE_NAME)
    now = blob_id(rules, source.algorithm) if rules is not None else None
    return now != (record.blob if record else None)


def _moved(manifest: Manifest, source: Source) -> bool:
    """The same files at another commit are a new snapshot too: `indexed_commit` must be true (CS-5)."""
    now, was = source.state, manifest.git
    return (was.head_sha, was.dirty) != (now.head_sha, now.dirty) or manifest.degraded


@dataclass(frozen=True, slots=True)
class Base:
    """The snapshot a sync builds upon."""

    view: SnapshotView | None = None
    seeded_from: str | None = None
    whole: bool = False  # compare every path
    unlist: frozenset[str] = frozenset()  # paths whose lexical documents must go whatever the plan says


ChooseBase = Callable[[Codebase, SyncOptions, ExitStack], Base]


def locked_sync(
    codebase: Codebase,
    options: SyncOptions,
    progress: Progress,
    started: float,
    choose: ChooseBase | None = None,
) -> SyncReport:
    """Sync under the lease, on the base that `choose` picks there."""
    layout = codebase.layout
    stores.create(layout, fresh_state(codebase))
    txn = ulid()
    with ExitStack() as stack:
        stack.enter_context(atomic.storage(layout.base))
        stack.enter_context(stores.writing(codebase.mode))
        hold = lease.hold(layout, txn, wait=options.lease_wait, ttl_ms=options.lease_ttl_ms)
        held = stack.enter_context(hold)
        stack.callback(atomic.remove_tree, layout.transaction(txn))  # a failed try leaves nothing behind
        base = (choose or _choose_base)(codebase, options, stack)
        source = stack.enter_context(open_source(codebase, options, bulk=base.view is None))
        plan = make_plan(codebase, base.view, source, options, whole=base.whole)
        if _settled(base, plan, source):
            assert base.view is not None
            return _noop(base.view.manifest, started)
        if not options.allow_degraded:
            refuse_failures(plan)
        planned = time.monotonic()
        job = Job(codebase, options, held, txn, base, source, progress)
        with indexing_state(layout, rebuild=base.view is None) as track:
            outcome = write(_task(job, track), plan)
            if not options.allow_degraded:
                refuse_failures(replace(plan, errors=outcome.errors))
            written = time.monotonic()
            manifest = _publish(job, outcome, {"plan": planned - started, "write": written - planned})
        return _report(manifest, outcome, started, written, base.seeded_from)


def _settled(base: Base, plan: Plan, source: Source) -> bool:
    if base.view is None or base.seeded_from or base.whole:
        return False
    return plan.empty and not plan.errors and not _moved(base.view.manifest, source)


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

    @property
    def parent(self) -> SnapshotView | None:
        return self.base.view


def _choose_base(codebase: Codebase, options: SyncOptions, stack: ExitStack) -> Base:
    """Ours, else a sibling's by hard links (ST-4), else nothing."""
    if options.full:
        return Base()
    view = open_active(codebase.layout)
    if view is not None:
        return Base(stack.enter_context(view))
    for sibling in stores.siblings(codebase.home, codebase.layout, fresh_state(codebase)):
        seeded = _seed(codebase, sibling)
        if seeded is not None:
            return Base(stack.enter_context(seeded), seeded_from=sibling.id)
    return Base()


def _seed(codebase: Codebase, sibling: Layout) -> SnapshotView | None:
    """A damaged or busy sibling is no reason to fail: we can always build."""
    try:
        with open_active(sibling) or nullcontext() as theirs:
            if theirs is None:
                return None
            manifest = clone.seed(codebase.layout, codebase.root, sibling, theirs.manifest)
    except IntegrityError:
        return None
    return SnapshotView(codebase.layout, manifest, None, Verifier(codebase.layout))


def _task(job: Job, track: Progress) -> Task:
    codebase = job.codebase
    embedder = open_embedder(codebase.settings.embedding)
    cached = embedder is not None and codebase.settings.embedding.provider != "static"
    cache = VectorCache(codebase.layout.embeddings, embedder.identity) if embedder and cached else None
    vectors = Vectors(embedder, cache)
    fingerprint = config.marker_fingerprint(codebase.settings, vectors.dimension)
    root = portable.ROOT if job.options.portable else str(codebase.root)

    def report(phase: str, done: int, total: int) -> None:
        track(phase, done, total)
        job.progress(phase, done, total)

    return Task(
        layout=codebase.layout,
        snapshot_id=job.snapshot_id,
        source=job.source,
        policy=make_policy(codebase.settings, None),  # paths were judged by the plan, only content is left
        settings=codebase.settings.index,
        vectors=vectors,
        parent=job.parent,
        unlist=job.base.unlist,
        marker=lambda counts: marker(root, fingerprint, counts, job.snapshot_id),
        check=job.lease.check,
        workers=job.options.workers or os.cpu_count() or 1,
        progress=report,
    )


def _publish(job: Job, outcome: Outcome, seconds: dict[str, float]) -> Manifest:
    codebase, parent = job.codebase, job.parent.manifest if job.parent else None
    verifier = job.parent.verifier if job.parent else Verifier(codebase.layout)
    spent = {name: round(value * 1000) for name, value in seconds.items()}

    def compose(segments: tuple[Segment, ...], words: tuple[Artifact, ...], overlay: Artifact) -> Manifest:
        return Manifest(
            snapshot_id=job.snapshot_id,
            parent_snapshot_id=parent.snapshot_id if parent else None,
            created_at=state.now(),
            canonical_root=str(codebase.root),
            store_id=codebase.layout.id,
            config_fingerprint=codebase.fingerprint,
            ignore_fingerprint=_ignore_fingerprint(job, outcome),
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
            origin=parent.origin if parent else Origin(),
            degraded=bool(outcome.errors),
            errors=outcome.errors,
            semantic=parent.semantic if parent else (),
        )

    return publish.publish(codebase.layout, job.lease, job.snapshot_id, outcome.staged, verifier, compose)


def _ignore_fingerprint(job: Job, outcome: Outcome) -> str:
    """Recomputed only when an ignore file changed: otherwise the parent's still holds (CF-2)."""
    touched = {*outcome.written, *outcome.plan.gone}
    if job.parent is not None and not any(_is_ignore_file(path) for path in touched):
        return job.parent.manifest.ignore_fingerprint
    found = [item for path, item in job.source.all().items() if _is_ignore_file(path) and item.skip is None]
    files = {item.key: content.data for item, content in job.source.read(found)}
    rules = _ignore_bytes(job.codebase, job.source, job.options)
    if rules is not None:
        files[config.IGNORE_NAME] = rules
    return ignore_fingerprint(files)


def _is_ignore_file(path: str) -> bool:
    return path == config.IGNORE_NAME or path.rpartition("/")[2] == ".gitignore"


def _noop(manifest: Manifest, started: float) -> SyncReport:
    return SyncReport(
        status="ok",
        snapshot_id=manifest.snapshot_id,
        parent_snapshot_id=manifest.parent_snapshot_id,
        noop=True,
        changes=ChangeSet().counts(),
        counts=_short(manifest.counts),
        elapsed_ms=_elapsed(started),
        timings_ms={},
        commit=manifest.git.head_sha,
        degraded=manifest.degraded,
        errors=manifest.errors,
    )


def _report(
    manifest: Manifest, outcome: Outcome, started: float, written: float, seeded: str | None
) -> SyncReport:
    return SyncReport(
        status="ok",
        snapshot_id=manifest.snapshot_id,
        parent_snapshot_id=manifest.parent_snapshot_id,
        noop=False,
        changes=outcome.changes.counts(),
        counts=_short(manifest.counts),
        elapsed_ms=_elapsed(started),
        timings_ms={**manifest.timings_ms, "publish": _elapsed(written)},
        commit=manifest.git.head_sha,
        degraded=manifest.degraded,
        errors=manifest.errors,
        seeded_from=seeded,
    )


def _short(counts: Counts) -> dict[str, int]:
    return {"files": counts.files_indexed, "chunks": counts.chunks_indexed}


def _elapsed(since: float) -> int:
    return round((time.monotonic() - since) * 1000)
