"""Thresholds for compaction and collection (SN-8). Pure, with few imports: every sync checks them."""

from __future__ import annotations

from gitindex.model.manifest import Manifest

OVERDUE_SEGMENTS = 48
OVERDUE_TOMBSTONES = 200_000
MAX_SEGMENTS = 64
MAX_TOMBSTONES = 250_000
MANY_SNAPSHOTS = 24


def is_overdue(manifest: Manifest) -> bool:
    """Whether the snapshot should be compacted when there is time."""
    return len(manifest.segments) >= OVERDUE_SEGMENTS or manifest.tombstone_count >= OVERDUE_TOMBSTONES


def is_at_limit(manifest: Manifest) -> bool:
    """Whether the snapshot must be compacted, even if a sync has to wait for it."""
    return len(manifest.segments) >= MAX_SEGMENTS or manifest.tombstone_count >= MAX_TOMBSTONES
