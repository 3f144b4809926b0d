"""Compaction (SN-8, IDX.MUST.007): segments and their tombstones become fewer.

All of them as one without tombstones, or only small neighbours among themselves (`tiers`): then large segments stay
byte for byte, which is what keeps a shared snapshot shared. Built from the live view without the lease; published
with it. When the active snapshot moved on meanwhile, what was merged takes its place in the prefix it was made from
and everything newer stays on top.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitindex.errors import LeaseHeld, StoreCorrupt
from gitindex.lifecycle import merging, tiers
from gitindex.lifecycle.merging import Merged
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
    snapshot_id: str
    segments_before: int
    segments_after: int
    tombstones_before: int
    rebased: bool


def worthwhile(manifest: Manifest) -> bool:
    return len(manifest.segments) > 1 or manifest.tombstone_count > 0


def compact(layout: Layout, *, wait: float = 30.0) -> CompactReport | None:
    """Merge everything and publish; None when there is nothing to merge.

    Raises LeaseHeld when a writer keeps the lease or another compaction came first; IntegrityError on damage.
    """
    with _reopen(layout) as view:
        if not worthwhile(view.manifest):
            return None
    return rebuild(layout, wait=wait)


def compact_deltas(layout: Layout, *, wait: float = 30.0) -> CompactReport | None:
    """Merge small segments among themselves; large ones stay as they are, and shared (RE-3).

    None when there is nothing to merge. Raises as `compact` does.
    """
    return compact_runs(layout, lambda view: tiers.runs(merging.weigh(view)), wait=wait)


def rebuild(layout: Layout, *, wait: float = 30.0) -> CompactReport:
    """Write every live row anew, the lexical index from the tables; worthwhile or not (repair)."""
    done = compact_runs(layout, lambda view: [range(len(view.manifest.segments))], wait=wait)
    assert done is not None
    return done


def detach(layout: Layout, *, wait: float = 30.0) -> None:
    """Make the active snapshot one of its own, whatever it was built upon: no file of it holds rows, exact documents,
    words or paths that the live view does not show. Where some do, everything is written anew; else older segments stay
    as they are, and shared."""

    def choose(view: SnapshotView) -> list[range]:
        count = len(view.manifest.segments)
        return [range(count) if _holds_dead(view) else range(count - 1, count)]

    compact_runs(layout, choose, wait=wait, origin=Origin())


def _holds_dead(view: SnapshotView) -> bool:
    dead = any(one.dead_rows or one.dead_documents or one.graves for one in merging.weigh(view))
    return dead or _dead_words(view) > 0


def compact_runs(
    layout: Layout,
    choose: Callable[[SnapshotView], list[range]],
    *,
    wait: float = 30.0,
    origin: Origin | None = None,
) -> CompactReport | None:
    """Merge the neighbours that `choose` names, whichever they are; the live view stays what it is. With `origin` the
    snapshot gets another one."""
    with ExitStack() as stack:
        view = stack.enter_context(_reopen(layout))
        steps.reach("compact.read")
        runs = choose(view)
        if not runs:
            return None
        txn = ulid()
        folder = stack.enter_context(publish.open_transaction(layout, txn))
        steps.reach("compact.build")
        merged = merging.merge(view, runs, folder, txn)
        steps.reach("compact.publish")
        with lease.hold(layout, txn, wait=wait) as held:
            snapshot_id = manifests.next_id(layout, txn)
            now = stack.enter_context(_reopen(layout))
            newer = _newer(view.manifest, now.manifest)
            staged = _stage(view, now, folder, merged, snapshot_id, rebased=bool(newer))
            composed = replace(now.manifest, origin=origin or now.manifest.origin)
            compose = _composer(view.manifest, composed, merged, snapshot_id, held.epoch)
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


def _stage(
    view: SnapshotView,
    now: SnapshotView,
    folder: Path,
    merged: Sequence[Merged],
    snapshot_id: str,
    *,
    rebased: bool,
) -> StagedSnapshot:
    """Finish the staged files against the snapshot that is active now."""
    payload = dict(now.read_marker() or {}) | {"runId": snapshot_id, "completedAt": state_file.now()}
    writers = [writer for one in merged for writer in one.writers]
    on_top = not rebased and merged[-1].run.stop == len(view.manifest.segments)
    steps.reach("publish.chunks")
    for writer in writers:
        writer.write_table(payload if on_top and writer is writers[-1] else None)
    steps.reach("publish.facts")
    written = [
        writer.write_facts(one.graves if writer is one.writers[0] else ())
        for one in merged
        for writer in one.writers
    ]
    if not on_top:
        written.append(_marker_segment(folder, snapshot_id, len(writers), now.manifest.dimension, payload))
    steps.reach("publish.lexical")
    linked = _stage_words(view, now, merged, folder / "lexical", rebased=rebased)
    overlay.write(folder / "overlay.jsonl", now.overlay().values())
    return StagedSnapshot(folder, tuple(written), "delta", linked)


def _stage_words(
    view: SnapshotView, now: SnapshotView, merged: Sequence[Merged], target: Path, *, rebased: bool
) -> dict[int, Artifact]:
    """The clone is right for the view whatever segments it has; a new index only where it is mostly dead weight."""
    whole = len(merged[0].run) == len(view.manifest.segments)
    if not rebased and (whole or _dead_words(now) > tiers.MOST_DEAD):
        merging.rebuild_lexical(view, target)
        return {}
    return clone.clone_lexical(now.manifest, now.verifier, target)


def _dead_words(view: SnapshotView) -> float:
    listing = next(item for item in view.manifest.lexical if item.path.endswith(f"/{lexicalparts.META}"))
    return lexicalparts.deleted_fraction(view.verifier.verified_path(listing).parent)


def _marker_segment(
    folder: Path, snapshot_id: str, number: int, dimension: int, payload: dict[str, Any]
) -> WrittenSegment:
    """The newest table must hold the marker; segments that stay on top are not ours to change (C-4)."""
    name = f"seg_{snapshot_id}_{number}"
    writer = SegmentWriter(folder / name, name, dimension, CHUNKER_VERSION)
    writer.write_table(payload)
    return writer.write_facts(())


def _composer(
    old: Manifest, now: Manifest, merged: Sequence[Merged], snapshot_id: str, epoch: int
) -> publish.ComposeManifest:
    def compose(segments: tuple[Segment, ...], words: tuple[Artifact, ...], kept: Artifact) -> Manifest:
        return replace(
            now,
            snapshot_id=snapshot_id,
            parent_snapshot_id=now.snapshot_id,
            created_at=state_file.now(),
            lease_epoch=epoch,
            segments=_replaced(old, now, merged, segments),
            lexical=words,
            overlay=kept,
            counts=replace(now.counts, tombstones_added=0),
            timings_ms={name: ms for name, ms in now.timings_ms.items() if name == "total"},
        )

    return compose


def _replaced(
    old: Manifest, now: Manifest, merged: Sequence[Merged], new: tuple[Segment, ...]
) -> tuple[Segment, ...]:
    """Each run's segments where the run was, everything else as it is; a marker segment, if any, is the newest."""
    fresh = {segment.id: segment for segment in new}
    starts = {one.run.start: one for one in merged}
    found: list[Segment] = []
    for at, segment in enumerate(old.segments):
        if at in starts:
            one = starts[at]
            found += [replace(fresh.pop(writer.id), kind=one.kind) for writer in one.writers]
        elif not any(at in one.run for one in merged):
            found.append(segment)
    return (*found, *now.segments[len(old.segments) :], *fresh.values())
