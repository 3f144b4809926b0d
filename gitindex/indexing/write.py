"""Executes a plan: reads, extracts and embeds files, and writes segments and lexical index into staging.

Nothing becomes visible here; `store.publish` does that. Memory is bounded by the segment size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitindex.extract.gc_pause import pause_gc
from gitindex.files.policy import EligibilityPolicy
from gitindex.indexing import plan as planning
from gitindex.indexing.batches import split_into_batches
from gitindex.indexing.compose import compute_counts
from gitindex.indexing.extractionpool import MIN_PARALLEL_BYTES, open_pool
from gitindex.indexing.indexwriter import BatchWriter, IndexWriter, WriterTarget
from gitindex.indexing.localwriter import LocalWriter
from gitindex.indexing.plan import Plan
from gitindex.indexing.planreader import PlanReader
from gitindex.indexing.vectors import Vectors
from gitindex.model.change_set import ChangeSet
from gitindex.model.manifest import Artifact, Counts, FileError
from gitindex.model.paths import PathKey
from gitindex.model.records import FileRecord
from gitindex.model.settings import EmbedSettings, IndexSettings
from gitindex.segment import lexical_index, overlay
from gitindex.source.source_file import SourceTree
from gitindex.store import publish, staging
from gitindex.store.clone import clone_lexical
from gitindex.view.snapshot import SnapshotView

if TYPE_CHECKING:
    from gitindex.indexing.writerpool import WriterPool

Progress = Callable[[str, int, int], None]  # phase, done, total
_BULK_FILES = 200  # files to write, above which the lexical writer gets more memory


@dataclass(frozen=True, slots=True)
class WriteTask:
    """The inputs of a write, besides the plan."""

    folder: Path  # the staging directory, empty
    snapshot_id: str
    source: SourceTree
    policy: EligibilityPolicy
    settings: IndexSettings
    vectors: Vectors
    embedding: EmbedSettings
    parent: SnapshotView | None  # its segments stay; None for a full build
    build_marker: Callable[[Counts], dict[str, Any]]
    check_lease: Callable[[], None]  # raises when the lease is lost
    drop_paths: frozenset[str] = frozenset()  # to drop from the lexical index too (repair)
    workers: int = 1
    pool: WriterPool | None = None  # started while planning, to load libraries in parallel
    progress: Progress = field(default=lambda _phase, _done, _total: None)


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What was written, and how the live view changes."""

    staged: publish.StagedSnapshot
    plan: Plan
    written: Mapping[PathKey, FileRecord]
    changes: ChangeSet
    errors: tuple[FileError, ...]
    counts: Counts
    embedder: str
    dimension: int


def write(task: WriteTask, plan: Plan) -> WriteResult:
    """Write `plan` into the staging directory of its task."""
    with pause_gc():
        return _write(task, plan)


def _write(task: WriteTask, plan: Plan) -> WriteResult:
    workers = choose_workers(sum(planned.source_file is not None for planned in plan.write), task.workers)
    if workers > 1 and task.parent is None and task.vectors.is_cheap:
        from gitindex.indexing.writerpool import WriterDied  # only a large tree pays for the import

        try:
            return _write_in_pool(task, plan, workers)
        except WriterDied:
            staging.clear(task.folder)
    return _write_locally(task, plan, workers)


def _write_in_pool(task: WriteTask, plan: Plan, workers: int) -> WriteResult:
    """Raises WriterDied when a file killed the process that indexed it."""
    from gitindex.indexing.writerpool import PoolWriter, WriterPool

    with task.pool or WriterPool(workers) as pool:
        writer = PoolWriter(pool, task.folder, task.snapshot_id, task.settings, task.embedding)
        return _write_batches(writer, task, plan, {})


def _write_locally(task: WriteTask, plan: Plan, workers: int) -> WriteResult:
    lexical = task.folder / "lexical"
    linked_artifacts = _start_lexical(task, lexical)
    target = WriterTarget(
        task.folder, lexical, task.snapshot_id, segment_bytes=task.settings.limits.sync_bytes
    )
    writer = IndexWriter(target, task.vectors, bulk=len(plan.write) > _BULK_FILES)
    replaced = {path for path, record in plan.before.items() if not record.skip}
    for path in replaced | task.drop_paths:
        writer.lexical.delete(path)
    with open_pool(workers, task.settings) as pool:
        return _write_batches(LocalWriter(writer, pool), task, plan, linked_artifacts)


def _write_batches(
    writer: BatchWriter, task: WriteTask, plan: Plan, linked_artifacts: Mapping[int, Artifact]
) -> WriteResult:
    """`linked_artifacts`: files of the lexical index that were linked from the parent, by inode."""
    reader = PlanReader(plan, task.source, task.policy)
    written: dict[PathKey, FileRecord] = {}
    for batch in split_into_batches(reader.read_files(), lambda file: file.size):
        _collect(writer.write(batch), written, task, plan)
    _collect(writer.drain(), written, task, plan)
    plan = reader.final_plan()
    change_set = planning.compute_changes(plan, written)
    tombstones = planning.list_tombstones(plan, change_set, written)
    parent_manifest = task.parent.manifest if task.parent else None
    counts = compute_counts(
        parent_manifest, plan.before.values() if parent_manifest else (), written.values(), len(tombstones)
    )
    segments = writer.finish(tombstones, task.build_marker(counts))
    overlay.write(task.folder / "overlay.jsonl", plan.overlay.values())
    return WriteResult(
        staged=publish.StagedSnapshot(
            folder=task.folder,
            segments=segments,
            segment_kind=_segment_kind(task),
            linked_artifacts=linked_artifacts,
            expected_paths=frozenset(written),
        ),
        plan=plan,
        written=written,
        changes=change_set,
        errors=(*plan.errors, *reader.errors),
        counts=counts,
        embedder=task.vectors.identity,
        dimension=task.vectors.dimension,
    )


def _collect(
    records: list[FileRecord], written: dict[PathKey, FileRecord], task: WriteTask, plan: Plan
) -> None:
    """Add completed records to `written`, and report progress. Raises LeaseLost."""
    written.update((record.path, record) for record in records)
    task.check_lease()
    task.progress("indexing", len(written), len(plan.write))


def choose_workers(files: int, max_workers: int) -> int:
    """`max_workers` for many files, 1 when starting processes would cost more than it saves."""
    # Sizes of blobs are unknown before they are read; 8 KiB is a usual source file.
    return max_workers if files * 8192 >= MIN_PARALLEL_BYTES else 1


def _segment_kind(task: WriteTask) -> str:
    return "base" if task.parent is None else "delta"


def _start_lexical(task: WriteTask, target: Path) -> Mapping[int, Artifact]:
    """Create an empty lexical index, or clone the parent's; returns the linked files, by inode."""
    if task.parent is None:
        lexical_index.create(target)
        return {}
    return clone_lexical(task.parent.manifest, task.parent.verifier, target)
