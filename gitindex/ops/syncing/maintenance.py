"""After a sync: compact when it is overdue, collect when many snapshots can be removed.

A collection locks readers out and reads every manifest. Whether it is worth that is decided from the ids of the
snapshots and a few replaced records, without a lock; the collection decides again under its locks.
"""

from __future__ import annotations

from gitindex.errors import LeaseHeld
from gitindex.lifecycle import maintenance_due, retention
from gitindex.model.frozen import frozen
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.lease_waits import LEASE_WAIT
from gitindex.store import manifests, replaced
from gitindex.store.clock import read_clock
from gitindex.store.layout import Layout

LIMIT_WAIT = LEASE_WAIT  # at a hard limit; below it, a busy store is left to the next sync


@frozen
class MaintenanceReport:
    compacted: bool = False
    collected: bool = False


def maintain_after_sync(codebase: Codebase) -> MaintenanceReport:
    """While another process holds the lease nothing is done, unless a hard limit is reached (SN-8)."""
    layout = codebase.layout
    try:
        manifest = manifests.read_active(layout)
        compacted = manifest is not None and maintenance_due.is_overdue(manifest)
        if manifest is not None and compacted:
            from gitindex.lifecycle import compact  # late, as below: one sync in fifty needs it (UI-3)

            compact.compact_deltas(layout, wait=LIMIT_WAIT if maintenance_due.is_at_limit(manifest) else 0)
        collected = _is_collection_due(layout)
        if collected:
            from gitindex.lifecycle import gc

            gc.collect(layout, wait=0)
    except LeaseHeld:
        return MaintenanceReport()
    return MaintenanceReport(compacted, collected)


def _is_collection_due(layout: Layout) -> bool:
    """Whether gc can remove the oldest quarter of many snapshots (SN-9).

    Snapshots are replaced in the order of their ids, so while the newest of that quarter is young no other record is
    read. A quarter and not the first one that can go: while syncs follow each other for longer than the ten minutes of
    retention, each of them makes one removable, and each would read every manifest.
    """
    now = read_clock()
    active = manifests.read_active_id(layout)
    oldest = maintenance_due.select_oldest_share(manifests.list_ids(layout))
    return bool(oldest) and all(
        retention.needs_collection(
            retention.SnapshotEntry(snapshot_id, replaced.read_replaced_at(layout, snapshot_id)), now
        )
        for snapshot_id in oldest
        if snapshot_id != active
    )
