"""Deletes what no retained snapshot references (SN-9, IDX.MUST.004, IDX.MUST.005).

Order: snapshots first, then what only they referenced, so that a crash in between leaves unreferenced files, never a
manifest without its files. Holds the writer lease, and the readers lock exclusively. Each deletion is fenced: a
collection that was suspended for longer than any time limit deletes nothing when it resumes (LE-3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from gitindex.errors import StoreCorrupt
from gitindex.lifecycle import retention
from gitindex.lifecycle.retention import SnapshotEntry
from gitindex.model.ids import creation_ms, ulid
from gitindex.model.manifest import Manifest
from gitindex.model.moment import Moment
from gitindex.store import atomic, compatibility, lease, manifests, readers, replaced, staging, steps
from gitindex.store.clock import read_clock
from gitindex.store.layout import Layout


@dataclass(frozen=True, slots=True)
class StoreGcPlan:
    """What to delete, and which snapshots stay."""

    snapshots: tuple[Path, ...]
    segments: tuple[Path, ...]
    lexical: tuple[Path, ...]
    staging: tuple[Path, ...]
    retained: tuple[str, ...]
    undated: tuple[str, ...] = ()  # retained snapshots whose time of replacement is unknown: it becomes now

    @property
    def paths(self) -> tuple[Path, ...]:
        return (*self.snapshots, *self.segments, *self.lexical, *self.staging)


@dataclass(frozen=True, slots=True)
class GcReport:
    plan: StoreGcPlan
    bytes_freed: int


def plan(layout: Layout, now: Moment, epoch: int = 0) -> StoreGcPlan:
    """What the holder of the lease with `epoch` may delete.

    Raises StoreCorrupt when the active snapshot cannot be read, IncompatibleVersion when a newer release wrote to the
    store.
    """
    manifests_by_id = compatibility.read_manifests(layout)
    active = manifests.read_active_id(layout)
    if active is None:
        raise StoreCorrupt(f"store {layout.id} has no active snapshot", hint="gitindex repair")
    if active not in manifests_by_id:
        manifests_by_id[active] = manifests.read(layout, active)  # raises what is wrong with it
    snapshots = _find_snapshots(layout, active, manifests_by_id)
    # A snapshot whose manifest cannot be read is deleted, and retains no files.
    retained = retention.find_retained(snapshots, active, now) & manifests_by_id.keys()
    live_paths = {artifact.path for name in retained for artifact in manifests_by_id[name].artifacts()}
    live_roots = set(map(_artifact_root, live_paths))
    return StoreGcPlan(
        snapshots=_find_unreferenced(layout.snapshots, retained),
        segments=(
            *_find_unreferenced(layout.tables, _entry_names(live_roots, "tables")),
            *_find_unreferenced(layout.segments, _entry_names(live_roots, "segments")),
        ),
        lexical=_find_unreferenced(layout.lexicals, _entry_names(live_roots, "lexical")),
        staging=(
            *staging.find_leftovers(layout, epoch),
            *(
                path
                for path in staging.find_unrecorded(layout)
                if retention.is_expired_staging(path.name, now)
            ),
        ),
        retained=tuple(sorted(retained)),
        undated=tuple(name for name in retention.find_undated(snapshots, active, now) if name in retained),
    )


def collect(layout: Layout, *, wait: float = 5.0, now: Moment | None = None) -> GcReport:
    """Plan and delete.

    Raises LeaseHeld when a writer or readers hold their lock, LeaseLost when another process took the lease, and as
    `plan` does.
    """
    moment = now or read_clock()
    with lease.hold(layout, ulid(), wait=wait) as writer_lease, readers.lock_exclusively(layout, wait):
        steps.reach("gc.plan")
        gc_plan = plan(layout, moment, writer_lease.epoch)
        with writer_lease.fence():
            for name in gc_plan.undated:
                replaced.record_replaced_at(layout, name, moment)
        freed = sum(writer_lease.removed_leftovers.values())
        for step, paths in (
            ("gc.snapshots", gc_plan.snapshots),
            ("gc.segments", gc_plan.segments),
            ("gc.lexical", gc_plan.lexical),
            ("gc.staging", gc_plan.staging),
        ):
            steps.reach(step)
            freed += sum(_remove(writer_lease, path) for path in paths)
        steps.reach("gc.done")
    return GcReport(replace(gc_plan, staging=(*writer_lease.removed_leftovers, *gc_plan.staging)), freed)


def _remove(writer_lease: lease.Lease, path: Path) -> int:
    with writer_lease.fence():
        return atomic.remove_tree(path)


def _find_snapshots(layout: Layout, active: str, manifests_by_id: dict[str, Manifest]) -> list[SnapshotEntry]:
    """Every snapshot with the time of its replacement: as recorded, else the creation time of its successor."""
    entries = []
    successor = None
    for snapshot_id in sorted({active, *manifests.list_ids(layout)}, reverse=True):
        replaced_at = replaced.read_replaced_at(layout, snapshot_id)
        if replaced_at is None and snapshot_id < active and successor is not None:
            replaced_at = _creation_moment(successor)
        entries.append(SnapshotEntry(snapshot_id, replaced_at))
        if snapshot_id <= active and snapshot_id in manifests_by_id:
            successor = manifests_by_id[snapshot_id]
    return entries


def _creation_moment(manifest: Manifest) -> Moment:
    try:
        return Moment(round(datetime.fromisoformat(manifest.created_at).timestamp() * 1000))
    except ValueError:
        return Moment(creation_ms(manifest.snapshot_id))


def _artifact_root(path: str) -> str:
    """`tables/x.lance/data/…` → `tables/x.lance`: gc deletes such an entry as a whole or not at all."""
    return "/".join(path.split("/")[:2])


def _entry_names(live: Iterable[str], folder: str) -> set[str]:
    return {path.split("/")[1] for path in live if path.startswith(f"{folder}/")}


def _find_unreferenced(folder: Path, referenced: set[str]) -> tuple[Path, ...]:
    return tuple(path for path in _list_children(folder) if path.name not in referenced)


def _list_children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
