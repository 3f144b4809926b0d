"""Deleting what no retained snapshot references (SN-9, IDX.MUST.004, IDX.MUST.005).

Order: snapshots first, then what only they referenced, so a crash in between leaves unreferenced files, never a
manifest without its files. Needs the writer lease and the readers lock alone; each deletion happens while nobody can
take the lease, so a collection that was stopped for longer than any time limit deletes nothing when it goes on (LE-3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from gitindex.errors import IncompatibleVersion, StoreCorrupt
from gitindex.lifecycle import retention
from gitindex.lifecycle.retention import Snapshot
from gitindex.model.ids import born_ms, ulid
from gitindex.model.manifest import Manifest
from gitindex.model.moment import Moment
from gitindex.store import atomic, compatibility, lease, manifests, readers, replaced, staging, steps
from gitindex.store.clock import read_clock
from gitindex.store.layout import Layout


@dataclass(frozen=True, slots=True)
class GcPlan:
    snapshots: tuple[Path, ...]
    segments: tuple[Path, ...]
    lexical: tuple[Path, ...]
    staging: tuple[Path, ...]
    kept: tuple[str, ...]
    undated: tuple[str, ...] = ()  # kept, and counted from now on as replaced

    @property
    def paths(self) -> tuple[Path, ...]:
        return (*self.snapshots, *self.segments, *self.lexical, *self.staging)


@dataclass(frozen=True, slots=True)
class GcReport:
    plan: GcPlan
    bytes_freed: int


def plan(layout: Layout, now: Moment, epoch: int = 0) -> GcPlan:
    """What may go, for the holder of the lease with `epoch`. Raises StoreCorrupt when the active snapshot cannot be
    read, IncompatibleVersion when anything is of a newer release: then nothing may."""
    compatibility.refuse_newer(layout)
    active = manifests.read_active_id(layout)
    if active is None:
        raise StoreCorrupt(f"store {layout.id} has no active snapshot", hint="gitindex repair")
    known = _read_manifests(layout, active)
    snapshots = _find_snapshots(layout, active, known)
    # An old manifest that we cannot read keeps nothing alive.
    keep = retention.find_retained(snapshots, active, now) & known.keys()
    live = {_top(artifact.path) for name in keep for artifact in known[name].artifacts()}
    return GcPlan(
        snapshots=_dead(layout.snapshots, keep),
        segments=(
            *_dead(layout.tables, _names(live, "tables")),
            *_dead(layout.segments, _names(live, "segments")),
        ),
        lexical=_dead(layout.lexicals, _names(live, "lexical")),
        staging=(
            *staging.find_leftovers(layout, epoch),
            *(
                path
                for path in staging.find_unrecorded(layout)
                if retention.is_expired_staging(path.name, now)
            ),
        ),
        kept=tuple(sorted(keep)),
        undated=tuple(name for name in retention.find_undated(snapshots, active, now) if name in keep),
    )


def collect(layout: Layout, *, wait: float = 5.0, now: Moment | None = None) -> GcReport:
    """Plan and delete.

    Raises LeaseHeld when a writer or readers keep us out, LeaseLost when another process took the lease, StoreCorrupt
    as `plan` does.
    """
    moment = now or read_clock()
    with lease.hold(layout, ulid(), wait=wait) as held, readers.lock_exclusively(layout, wait):
        steps.reach("gc.plan")
        chosen = plan(layout, moment, held.epoch)
        with held.fence():
            for name in chosen.undated:
                replaced.record_replaced_at(layout, name, moment)
        freed = sum(held.removed_leftovers.values())
        for step, paths in (
            ("gc.snapshots", chosen.snapshots),
            ("gc.segments", chosen.segments),
            ("gc.lexical", chosen.lexical),
            ("gc.staging", chosen.staging),
        ):
            steps.reach(step)
            freed += sum(_remove(held, path) for path in paths)
        steps.reach("gc.done")
    return GcReport(replace(chosen, staging=(*held.removed_leftovers, *chosen.staging)), freed)


def _remove(held: lease.Lease, path: Path) -> int:
    with held.fence():
        return atomic.remove_tree(path)


def _read_manifests(layout: Layout, active: str) -> dict[str, Manifest]:
    """What can be read, by id. Raises what reading the active one raises."""
    found = {}
    for snapshot_id in {active, *manifests.list_ids(layout)}:
        try:
            found[snapshot_id] = manifests.read(layout, snapshot_id)
        except (StoreCorrupt, IncompatibleVersion):
            if snapshot_id == active:
                raise
    return found


def _find_snapshots(layout: Layout, active: str, known: dict[str, Manifest]) -> list[Snapshot]:
    """Every snapshot with when it was replaced: by its note, else by the next one that was active after it."""
    found = []
    successor = None
    for snapshot_id in sorted({active, *manifests.list_ids(layout)}, reverse=True):
        when = replaced.read_replaced_at(layout, snapshot_id)
        if when is None and snapshot_id < active and successor is not None:
            when = _made(successor)
        found.append(Snapshot(snapshot_id, when))
        if snapshot_id <= active and snapshot_id in known:
            successor = known[snapshot_id]
    return found


def _made(manifest: Manifest) -> Moment:
    try:
        return Moment(round(datetime.fromisoformat(manifest.created_at).timestamp() * 1000))
    except ValueError:
        return Moment(born_ms(manifest.snapshot_id))


def _top(path: str) -> str:
    """`tables/x.lance/data/…` → `tables/x.lance`: what is deleted whole or not at all."""
    return "/".join(path.split("/")[:2])


def _names(live: Iterable[str], folder: str) -> set[str]:
    return {path.split("/")[1] for path in live if path.startswith(f"{folder}/")}


def _dead(folder: Path, keep: set[str]) -> tuple[Path, ...]:
    return tuple(path for path in _children(folder) if path.name not in keep)


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
