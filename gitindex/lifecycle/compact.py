"""Compaction (SN-8, IDX.MUST.007): merges segments into fewer ones with fewer tombstones.

Merges all segments into one without tombstones, or only small neighbours (`tiers`), so that large segments keep their
bytes and need not be downloaded again. Builds from the live view without the lease, and takes it to publish. When
another snapshot became active meanwhile, the merged segments replace those that they were made from, and newer segments
stay on top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitindex.errors import LeaseHeld, StoreCorrupt
from gitindex.lifecycle import merging, tiers
from gitindex.lifecycle.merging import MergedRun
from gitindex.model.ids import ulid
from gitindex.model.manifest import Artifact, Manifest, Origin, Segment
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.segment import lexicalparts, overlay
from gitindex.segment.writer import SegmentWriter, WrittenSegment
from gitindex.store import clone, lease, manifests, publish, state_file, steps
from gitindex.store.layout import Layout
from gitindex.store.publish import StagedSnapshot
from gitindex.view.snapshot import SnapshotView, open_active


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What a compaction did; `rebased` if another snapshot became active meanwhile."""

    snapshot_id: str
    segments_before: int
    segments_after: int
    tombstones_before: int
    rebased: bool


def can_compact(manifest: Manifest) -> bool:
    return len(manifest.segments) > 1 or manifest.tombstone_count > 0


def compact(layout: Layout, *, wait: float = 30.0) -> CompactReport | None:
    """Merge everything and publish; None when there is nothing to merge.

    Raises LeaseHeld when a writer keeps the lease or another compaction came first; IntegrityError on damage.
    """
    with _require_active(layout) as view:
        if not can_compact(view.manifest):
            return None
    return rebuild(layout, wait=wait)


def compact_deltas(layout: Layout, *, wait: float = 30.0) -> CompactReport | None:
    """Merge small segments; large ones stay unchanged, and shared (RE-3).

    None when there is nothing to merge. Raises as `compact` does.
    """
    return compact_runs(layout, lambda view: tiers.choose_runs(merging.measure_segments(view)), wait=wait)


def rebuild(layout: Layout, *, wait: float = 30.0) -> CompactReport:
    """Rewrite all live rows, and the lexical index from the tables, even if nothing is dead (repair)."""
    report = compact_runs(layout, lambda view: [range(len(view.manifest.segments))], wait=wait)
    assert report is not None
    return report


def detach(layout: Layout, *, wait: float = 30.0) -> None:
    """Publish the live view as a snapshot whose files contain no row, document, word or path that it does not show.

    Rewrites everything if any segment has dead rows or tombstones; else older segments stay unchanged, and shared.
    """

    def choose_runs(view: SnapshotView) -> list[range]:
        count = len(view.manifest.segments)
        return [range(count) if _has_dead_rows(view) else range(count - 1, count)]

    compact_runs(layout, choose_runs, wait=wait, origin=Origin())


def _has_dead_rows(view: SnapshotView) -> bool:
    dead = any(
        usage.dead_rows or usage.dead_documents or usage.tombstones
        for usage in merging.measure_segments(view)
    )
    return dead or _dead_lexical_fraction(view) > 0


def compact_runs(
    layout: Layout,
    choose_runs: Callable[[SnapshotView], list[range]],
    *,
    wait: float = 30.0,
    origin: Origin | None = None,
) -> CompactReport | None:
    """Merge each run of neighbours that `choose_runs` returns; the live view does not change.

    None when there is no run. With `origin`, the snapshot gets that origin. Raises as `compact` does.
    """
    with ExitStack() as stack:
        view = stack.enter_context(_require_active(layout))
        steps.reach("compact.read")
        runs = choose_runs(view)
        if not runs:
            return None
        txn = ulid()
        folder = stack.enter_context(publish.open_transaction(layout, txn))
        steps.reach("compact.build")
        merged_runs = merging.merge(view, runs, folder, txn)
        steps.reach("compact.publish")
        with lease.hold(layout, txn, wait=wait) as writer_lease:
            snapshot_id = manifests.next_id(layout, txn)
            current = stack.enter_context(_require_active(layout))
            newer_segments = _find_newer_segments(view.manifest, current.manifest)
            staged = _stage(view, current, folder, merged_runs, snapshot_id, rebased=bool(newer_segments))
            base_manifest = replace(current.manifest, origin=origin or current.manifest.origin)
            compose = _make_compose(
                view.manifest, base_manifest, merged_runs, snapshot_id, writer_lease.epoch
            )
            manifest = publish.publish(
                layout, writer_lease, snapshot_id, staged, verifier=current.verifier, compose=compose
            )
        return CompactReport(
            snapshot_id=snapshot_id,
            segments_before=len(current.manifest.segments),
            segments_after=len(manifest.segments),
            tombstones_before=current.manifest.tombstone_count,
            rebased=bool(newer_segments),
        )


def _require_active(layout: Layout) -> SnapshotView:
    view = open_active(layout)
    if view is None:
        raise StoreCorrupt(f"store {layout.id} has no snapshot", hint="gitindex sync")
    return view


def _find_newer_segments(old: Manifest, current: Manifest) -> tuple[Segment, ...]:
    """Segments that were published on top of those that we merged.

    Raises LeaseHeld when `current` does not start with ours any more: another process compacted or reindexed.
    """
    our_ids = [segment.id for segment in old.segments]
    current_ids = [segment.id for segment in current.segments]
    if current_ids[: len(our_ids)] != our_ids:
        raise LeaseHeld("another compaction or reindex came first", hint="gitindex compact")
    return current.segments[len(our_ids) :]


def _stage(
    view: SnapshotView,
    current: SnapshotView,
    folder: Path,
    merged_runs: Sequence[MergedRun],
    snapshot_id: str,
    *,
    rebased: bool,
) -> StagedSnapshot:
    """Finish the staged files against the snapshot that is active now."""
    marker = dict(current.read_marker() or {}) | {"runId": snapshot_id, "completedAt": state_file.now()}
    writers = [writer for merged_run in merged_runs for writer in merged_run.writers]
    on_top = not rebased and merged_runs[-1].run.stop == len(view.manifest.segments)
    steps.reach("publish.chunks")
    for writer in writers:
        writer.write_table(marker if on_top and writer is writers[-1] else None)
    steps.reach("publish.facts")
    written = [
        writer.write_facts(merged_run.tombstones if writer is merged_run.writers[0] else ())
        for merged_run in merged_runs
        for writer in merged_run.writers
    ]
    if not on_top:
        written.append(
            _write_marker_segment(folder, snapshot_id, len(writers), current.manifest.dimension, marker)
        )
    steps.reach("publish.lexical")
    linked_artifacts = _stage_lexical(view, current, merged_runs, folder / "lexical", rebased=rebased)
    overlay.write(folder / "overlay.jsonl", current.overlay().values())
    return StagedSnapshot(folder, tuple(written), "delta", linked_artifacts)


def _stage_lexical(
    view: SnapshotView,
    current: SnapshotView,
    merged_runs: Sequence[MergedRun],
    target: Path,
    *,
    rebased: bool,
) -> dict[int, Artifact]:
    """Clone the current lexical index, which fits any segments of the same live view; rebuild it if it is mostly dead.

    Returns the linked files, by inode.
    """
    covers_all = len(merged_runs[0].run) == len(view.manifest.segments)
    if not rebased and (covers_all or _dead_lexical_fraction(current) > tiers.MAX_DEAD_FRACTION):
        merging.rebuild_lexical(view, target)
        return {}
    return clone.clone_lexical(current.manifest, current.verifier, target)


def _dead_lexical_fraction(view: SnapshotView) -> float:
    listing = next(item for item in view.manifest.lexical if item.path.endswith(f"/{lexicalparts.META}"))
    return lexicalparts.deleted_fraction(view.verifier.verified_path(listing).parent)


def _write_marker_segment(
    folder: Path, snapshot_id: str, number: int, dimension: int, marker: dict[str, Any]
) -> WrittenSegment:
    """An empty segment with the marker: the newest table must hold it, and unmerged segments cannot change (C-4)."""
    name = f"seg_{snapshot_id}_{number}"
    writer = SegmentWriter(folder / name, name, dimension, CHUNKER_VERSION)
    writer.write_table(marker)
    return writer.write_facts(())


def _make_compose(
    old: Manifest, current: Manifest, merged_runs: Sequence[MergedRun], snapshot_id: str, epoch: int
) -> publish.ComposeManifest:
    def compose(
        segments: tuple[Segment, ...], lexical: tuple[Artifact, ...], overlay_artifact: Artifact
    ) -> Manifest:
        return replace(
            current,
            snapshot_id=snapshot_id,
            parent_snapshot_id=current.snapshot_id,
            created_at=state_file.now(),
            lease_epoch=epoch,
            segments=_replace_runs(old, current, merged_runs, segments),
            lexical=lexical,
            overlay=overlay_artifact,
            counts=replace(current.counts, tombstones_added=0),
            timings_ms={name: ms for name, ms in current.timings_ms.items() if name == "total"},
        )

    return compose


def _replace_runs(
    old: Manifest, current: Manifest, merged_runs: Sequence[MergedRun], new_segments: tuple[Segment, ...]
) -> tuple[Segment, ...]:
    """Put the new segments of each run in the place of the run; a marker segment, if any, becomes the newest."""
    unplaced = {segment.id: segment for segment in new_segments}
    runs_by_start = {merged_run.run.start: merged_run for merged_run in merged_runs}
    segments: list[Segment] = []
    for index, segment in enumerate(old.segments):
        merged_run = runs_by_start.get(index)
        if merged_run is not None:
            segments += [
                replace(unplaced.pop(writer.id), kind=merged_run.kind) for writer in merged_run.writers
            ]
        elif not any(index in other.run for other in merged_runs):
            segments.append(segment)
    return (*segments, *current.segments[len(old.segments) :], *unplaced.values())
