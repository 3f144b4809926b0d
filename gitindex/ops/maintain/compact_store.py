"""`compact`: merges the segments of a codebase's store on request; a sync does so by itself when it is overdue."""

from __future__ import annotations

from gitindex.lifecycle.compact import CompactReport, compact
from gitindex.ops.codebase import Codebase


def compact_store(codebase: Codebase) -> CompactReport | None:
    """Merge all segments into one; None when there is one segment without tombstones. Raises LeaseHeld."""
    return compact(codebase.layout)
