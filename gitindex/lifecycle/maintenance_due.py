"""When a store wants upkeep (SN-8). Pure, and light: every sync asks, few find that it does."""

from __future__ import annotations

from gitindex.model.manifest import Manifest

OVERDUE_SEGMENTS = 48
OVERDUE_TOMBSTONES = 200_000
MAX_SEGMENTS = 64
MAX_TOMBSTONES = 250_000
MANY_SNAPSHOTS = 24


def is_overdue(manifest: Manifest) -> bool:
    """Should its segments be fewer?"""
    return len(manifest.segments) >= OVERDUE_SEGMENTS or manifest.tombstone_count >= OVERDUE_TOMBSTONES


def is_at_limit(manifest: Manifest) -> bool:
    """Must they be fewer, even if a sync has to wait for it?"""
    return len(manifest.segments) >= MAX_SEGMENTS or manifest.tombstone_count >= MAX_TOMBSTONES
