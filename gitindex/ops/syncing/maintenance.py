"""After a sync: compact when it is overdue, collect when there are many snapshots."""

from __future__ import annotations

from gitindex.errors import LeaseHeld
from gitindex.lifecycle import maintenance_due
from gitindex.model.frozen import frozen
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.lease_waits import LEASE_WAIT
from gitindex.store import manifests

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
        collected = len(manifests.list_ids(layout)) > maintenance_due.MANY_SNAPSHOTS
        if collected:
            from gitindex.lifecycle import gc

            gc.collect(layout, wait=0)
    except LeaseHeld:
        return MaintenanceReport()
    return MaintenanceReport(compacted, collected)
