"""`gc`: deletes snapshots that nobody retains, or whole stores that nobody uses. A dry run deletes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gitindex.config import Environment
from gitindex.errors import GitindexError
from gitindex.lifecycle import gc
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.maintain.store_inventory import StoresReport, collect_stores
from gitindex.store import atomic, lease, manifests
from gitindex.store.clock import read_clock


@dataclass(frozen=True, slots=True)
class SnapshotsReport:
    """`removed` are paths below the store, `kept` ids of snapshots. A dry run lists what it would remove."""

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    bytes_freed: int


def collect_snapshots(codebase: Codebase, *, dry_run: bool) -> SnapshotsReport | None:
    """Delete what no retained snapshot needs; None for a codebase without an index.

    Raises LeaseHeld while others write or read, StoreCorrupt when the active snapshot cannot be read.
    """
    layout = codebase.layout
    if manifests.read_active(layout) is None:
        return None
    if dry_run:
        plan = gc.plan(layout, read_clock(), lease.next_epoch(layout))
        bytes_freed = sum(map(atomic.tree_size, plan.paths))
    else:
        report = gc.collect(layout)
        plan, bytes_freed = report.plan, report.bytes_freed
    removed = tuple(path.relative_to(layout.base).as_posix() for path in plan.paths)
    return SnapshotsReport(removed, plan.retained, bytes_freed)


def collect_unused_stores(
    path: Path, environment: Environment, *, days: int, force: bool, dry_run: bool
) -> StoresReport:
    """Remove stores unused for `days`; that of the codebase at `path` only with `force` (ST-5)."""
    try:
        current_codebase = open_codebase(path, environment)
    except GitindexError:  # the command may run anywhere: then no store is the current one
        current_codebase = None
    return collect_stores(environment, current_codebase, days=days, force=force, dry_run=dry_run)
