"""What a sync does besides publishing: compact when overdue, collect when snapshots pile up."""

from __future__ import annotations

from gitindex.errors import LeaseHeld
from gitindex.lifecycle import maintenance_due
from gitindex.model.frozen import frozen
from gitindex.ops.codebase import Codebase
from gitindex.store import manifests

LIMIT_WAIT = 30.0  # seconds


@frozen
class MaintenanceReport:
    compacted: bool = False
    collected: bool = False


def maintain_after_sync(codebase: Codebase) -> MaintenanceReport:
    """Being busy is a reason to leave it to the next sync, until a hard limit is reached (SN-8)."""
    layout = codebase.layout
    try:
        manifest = manifests.read_active(layout)
        compacted = manifest is not None and maintenance_due.is_overdue(manifest)
        if manifest is not None and compacted:
            from gitindex.lifecycle import compact  # late, as below: a sync in fifty needs it (UI-3)

            compact.compact_deltas(layout, wait=LIMIT_WAIT if maintenance_due.is_at_limit(manifest) else 0)
        collected = len(manifests.list_ids(layout)) > maintenance_due.MANY_SNAPSHOTS
        if collected:
            from gitindex.lifecycle import gc

            gc.collect(layout, wait=0)
    except LeaseHeld:
        return MaintenanceReport()
    return MaintenanceReport(compacted, collected)
