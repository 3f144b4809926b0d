"""Deleting what no retained snapshot references (SN-9, IDX.MUST.004, IDX.MUST.005).

Order: snapshots first, then what only they referenced, so a crash in between leaves unreferenced files, never a
manifest without its files. Needs the writer lease and the readers lock alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gitindex.errors import IncompatibleVersion, StoreCorrupt
from gitindex.lifecycle import retention
from gitindex.model.ids import ulid
from gitindex.store import atomic, compatibility, lease, manifests, readers, steps
from gitindex.store.layout import Layout


@dataclass(frozen=True, slots=True)
class GcPlan:
    snapshots: tuple[Path, ...]
    segments: tuple[Path, ...]
    lexical: tuple[Path, ...]
    staging: tuple[Path, ...]
    kept: tuple[str, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        return (*self.snapshots, *self.segments, *self.lexical, *self.staging)


@dataclass(frozen=True, slots=True)
class GcReport:
    plan: GcPlan
    bytes_freed: int


def plan(layout: Layout, now_ms: int, holder: str = "") -> GcPlan:
    """What may go. Raises StoreCorrupt when the active snapshot cannot be read, IncompatibleVersion when anything is
    of a newer release: then nothing may."""
    compatibility.refuse_newer(layout)
    active = manifests.active_id(layout)
    if active is None:
        raise StoreCorrupt(f"store {layout.id} has no active snapshot", hint="gitindex repair")
    keep = retention.retained(manifests.ids(layout), active, now_ms)
    live: set[str] = set()
    for snapshot_id in sorted(keep):
        try:
            manifest = manifests.read(layout, snapshot_id)
        except (StoreCorrupt, IncompatibleVersion):
            if snapshot_id == active:
                raise
            keep.discard(snapshot_id)  # an old manifest that we cannot read keeps nothing alive
            continue
        live.update(_top(artifact.path) for artifact in manifest.artifacts())
    return GcPlan(
        snapshots=_dead(layout.snapshots, keep),
        segments=(
            *_dead(layout.tables, _names(live, "tables")),
            *_dead(layout.segments, _names(live, "segments")),
        ),
        lexical=_dead(layout.lexicals, _names(live, "lexical")),
        staging=tuple(
            path
            for path in _children(layout.staging)
            if path.name != holder and retention.expired_staging(path.name, now_ms)
        ),
        kept=tuple(sorted(keep)),
    )


def collect(layout: Layout, *, wait: float = 5.0, now_ms: int | None = None) -> GcReport:
    """Plan and delete.

    Raises LeaseHeld when a writer or readers keep us out, StoreCorrupt as `plan` does.
    """
    txn = ulid()
    moment = now_ms if now_ms is not None else time.time_ns() // 1_000_000
    with lease.hold(layout, txn, wait=wait) as held, readers.exclusive(layout, wait):
        steps.reach("gc.plan")
        chosen = plan(layout, moment, txn)
        held.check()
        freed = 0
        for step, paths in (
            ("gc.snapshots", chosen.snapshots),
            ("gc.segments", chosen.segments),
            ("gc.lexical", chosen.lexical),
            ("gc.staging", chosen.staging),
        ):
            steps.reach(step)
            freed += sum(atomic.remove_tree(path) for path in paths)
        steps.reach("gc.done")
    return GcReport(chosen, freed)


def _top(path: str) -> str:
    """`tables/x.lance/data/…` → `tables/x.lance`: what is deleted whole or not at all."""
    return "/".join(path.split("/")[:2])


def _names(live: Iterable[str], folder: str) -> set[str]:
    return {path.split("/")[1] for path in live if path.startswith(f"{folder}/")}


def _dead(folder: Path, keep: set[str]) -> tuple[Path, ...]:
    return tuple(path for path in _children(folder) if path.name not in keep)


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
