"""When a store wants upkeep (SN-8). Pure, and light: every sync asks, few find that it does."""

from __future__ import annotations

from gitindex.model.manifest import Manifest

OVERDUE_SEGMENTS = 48
OVERDUE_TOMBSTONES = 200_000
MANY_SNAPSHOTS = 24


def overdue(manifest: Manifest) -> bool:
    """Should its segments be fewer?"""
    return len(manifest.segments) >= OVERDUE_SEGMENTS or manifest.tombstone_count >= OVERDUE_TOMBSTONES
