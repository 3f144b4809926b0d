"""Compaction (SN-8, IDX.MUST.007): many segments and their tombstones become one segment without any.

Built from the live view without the lease; published with it. When the active snapshot moved on meanwhile, the
merged segment takes the place of the prefix it was made from and everything newer stays on top.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitindex.errors import LeaseHeld, StoreCorrupt
from gitindex.extract import tokens
from gitindex.extract.versions import CHUNKER_VERSION
from gitindex.model.ids import ulid
from gitindex.model.manifest import Artifact, Manifest, Segment
from gitindex.model.rows import Chunk
from gitindex.model.settings import MAX_SYNC_BYTES
from gitindex.segment import lexical, overlay, scipmerge
from gitindex.segment.lexical import LexicalWriter
from gitindex.segment.writer import SegmentWriter, Written
from gitindex.store import atomic, clone, lease, publish, state, steps
from gitindex.store.layout import Layout
from gitindex.store.publish import Staged
from gitindex.view.snapshot import SnapshotView, open_active

OVERDUE_SEGMENTS = 48
OVERDUE_TOMBSTONES = 200_000
MAX_SEGMENTS = 64
MAX_TOMBSTONES = 250_000


@dataclass(frozen=True, slots=True)
class CompactReport:
    snapshot_id: str
    segments_before: int
    segments_after: int
    tombstones_before: int
    rebased: bool


def overdue(manifest: Manifest) -> bool:
    return len(manifest.segments) >= OVERDUE_SEGMENTS or manifest.tombstone_count >= OVERDUE_TOMBSTONES


def worthwhile(manifest: Manifest) -> bool:
    return len(manifest.segments) > 1 or manifest.tombstone_count > 0


def compact(layout: Layout, *, wait: float = 30.0) -> CompactReport | None:
    """Merge and publish; None when there is nothing to merge.

    Raises LeaseHeld when a writer keeps the lease or another compaction came first; IntegrityError on damage.
    """
    with _reopen(layout) as view:
        if not worthwhile(view.manifest):
            return None
    return rebuild(layout, wait=wait)


def rebuild(layout: Layout, *, wait: float = 30.0) -> CompactReport:
    """Write every live row anew, the lexical index from the tables; worthwhile or not (repair)."""
    with ExitStack() as stack:
        view = stack.enter_context(_reopen(layout))
        steps.reach("compact.read")
        snapshot_id = ulid()
        folder = publish.begin(layout, snapshot_id)
        stack.callback(atomic.remove_tree, folder)
        steps.reach("compact.build")
        writers = list(_merge(view, folder, snapshot_id))
        _merge_exact(view, folder / writers[-1].id, writers[-1].id)
        steps.reach("compact.publish")
        with lease.hold(layout, snapshot_id, wait=wait) as held:
            now = stack.enter_context(_reopen(layout))
            newer = _newer(view.manifest, now.manifest)
            staged = _stage(view, now, folder, writers, snapshot_id, rebased=bool(newer))
            compose = _composer(now.manifest, snapshot_id, held.epoch, newer)
            manifest = publish.publish(layout, held, snapshot_id, staged, now.verifier, compose)
        return CompactReport(
            snapshot_id=snapshot_id,
            segments_before=len(now.manifest.segments),
            segments_after=len(manifest.segments),
            tombstones_before=now.manifest.tombstone_count,
            rebased=bool(newer),
        )


def _reopen(layout: Layout) -> SnapshotView:
    view = open_active(layout)
    if view is None:
        raise StoreCorrupt(f"store {layout.id} has no snapshot", hint="gitindex sync")
    return view


def _newer(old: Manifest, now: Manifest) -> tuple[Segment, ...]:
    """Segments published on top of those we merged.

    Raises LeaseHeld when ours are not the beginning any more: somebody else compacted or reindexed.
    """
    ours = [segment.id for segment in old.segments]
    theirs = [segment.id for segment in now.segments]
    if theirs[: len(ours)] != ours:
        raise LeaseHeld("another compaction or reindex came first", hint="gitindex compact")
    return now.segments[len(ours) :]


def _merge(view: SnapshotView, folder: Path, snapshot_id: str) -> Iterator[SegmentWriter]:
    """Write live rows of all segments into as few new ones as the size limit allows."""
    writer = None
    room = 0
    for at in range(len(view.manifest.segments)):
        live = view.segment_paths(at)
        size = sum(record.size for record in live)
        if writer is None or room < size:
            number = 0 if writer is None else int(writer.id.rpartition("_")[2]) + 1
            name = f"seg_{snapshot_id}_{number}"
            if writer is not None:
                yield writer
            writer = SegmentWriter(folder / name, name, view.manifest.dimension, CHUNKER_VERSION)
            room = MAX_SYNC_BYTES
        room -= size
        for batch in view.chunk_batches(at):
            writer.add_rows(batch)
        writer.copy_facts(view.facts_path(at), live)
    if writer is not None:
        yield writer


def _merge_exact(view: SnapshotView, folder: Path, segment: str) -> None:
    """Documents of live paths move into one file beside the newest merged segment (SE-7)."""
    if view.scip:
        sources = (
            (facts, [head for head in documents if view.record(head.path) is not None])
            for facts, documents in view.scip.sources()
        )
        scipmerge.merge(folder / "scip.sqlite", segment, sources)


def _stage(
    view: SnapshotView,
    now: SnapshotView,
    folder: Path,
    writers: list[SegmentWriter],
    snapshot_id: str,
    *,
    rebased: bool,
) -> Staged:
    """Finish the staged files against the snapshot that is active now."""
    payload = dict(now.marker() or {}) | {"runId": snapshot_id, "completedAt": state.now()}
    last = writers[-1]
    steps.reach("publish.chunks")
    for writer in writers:
        writer.write_table(payload if writer is last and not rebased else None)
    steps.reach("publish.facts")
    written = [writer.write_facts(()) for writer in writers]
    if rebased:
        written.append(_marker_segment(folder, snapshot_id, len(writers), now.manifest.dimension, payload))
    steps.reach("publish.lexical")
    linked: dict[int, Artifact] = {}
    if rebased:  # the newer clone is right for the newer view; it is rewritten next time
        linked = clone.clone_lexical(now.manifest, now.verifier, folder / "lexical")
    else:
        _rebuild_lexical(view, folder / "lexical")
    overlay.write(folder / "overlay.jsonl", now.overlay().values())
    return Staged(folder, tuple(written), "base", linked)


def _marker_segment(
    folder: Path, snapshot_id: str, number: int, dimension: int, payload: dict[str, Any]
) -> Written:
    """The newest table must hold the marker; newer segments on top are not ours to change (C-4)."""
    name = f"seg_{snapshot_id}_{number}"
    writer = SegmentWriter(folder / name, name, dimension, CHUNKER_VERSION)
    writer.write_table(payload)
    return writer.write_facts(())


def _composer(now: Manifest, snapshot_id: str, epoch: int, newer: tuple[Segment, ...]) -> publish.Compose:
    def compose(segments: tuple[Segment, ...], words: tuple[Artifact, ...], kept: Artifact) -> Manifest:
        merged = segments[:-1] if newer else segments
        on_top = (*newer, segments[-1]) if newer else ()
        return replace(
            now,
            snapshot_id=snapshot_id,
            parent_snapshot_id=now.snapshot_id,
            created_at=state.now(),
            lease_epoch=epoch,
            segments=(*merged, *on_top),
            lexical=words,
            overlay=kept,
            counts=replace(now.counts, tombstones_added=0),
            timings_ms={name: ms for name, ms in now.timings_ms.items() if name == "total"},
        )

    return compose


def _rebuild_lexical(view: SnapshotView, target: Path) -> None:
    lexical.create(target)
    writer = LexicalWriter(target, bulk=True)
    for at in range(len(view.manifest.segments)):
        for path, language, chunk in _chunks(view, at):
            writer.add(path, language, [chunk])
    writer.finish()


def _chunks(view: SnapshotView, at: int) -> Iterator[tuple[str, str, Chunk]]:
    """Chunks as extraction made them, from the rows of a table."""
    for batch in view.chunk_batches(at):
        for row in batch.to_pylist():
            chunk = Chunk(
                ordinal=row["ordinal"],
                kind=row["kind"],
                text=row["text"],
                chunk_hash=row["chunk_hash"].hex(),
                start_line=row["start_line"],
                end_line=row["end_line"],
                byte_start=row["byte_start"],
                byte_end=row["byte_end"],
                symbol=row["symbol"],
                symbol_kind=row["symbol_kind"],
                names=row["names"],
                terms=tokens.terms(row["text"]),
                idents=tokens.identifiers(row["text"]),
            )
            yield row["path_key"], row["language"], chunk
