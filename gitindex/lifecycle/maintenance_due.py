"""Thresholds for compaction and collection (SN-8). Pure, with few imports: every sync checks them."""

from __future__ import annotations

from collections.abc import Iterable

from gitindex.model.manifest import Manifest

OVERDUE_SEGMENTS = 48
OVERDUE_TOMBSTONES = 200_000
MAX_SEGMENTS = 64
MAX_TOMBSTONES = 250_000
MANY_SNAPSHOTS = 24
COLLECTED_SHARE = 4  # a collection reads every manifest, so it has to remove one snapshot in so many


def is_overdue(manifest: Manifest) -> bool:
    """Whether the snapshot should be compacted when there is time."""
    return len(manifest.segments) >= OVERDUE_SEGMENTS or manifest.tombstone_count >= OVERDUE_TOMBSTONES


def is_at_limit(manifest: Manifest) -> bool:
    """Whether the snapshot must be compacted, even if a sync has to wait for it."""
    return len(manifest.segments) >= MAX_SEGMENTS or manifest.tombstone_count >= MAX_TOMBSTONES


def select_oldest_share(snapshot_ids: Iterable[str]) -> list[str]:
    """The oldest quarter of many snapshots, newest first: gc runs when it can remove them. Empty for few snapshots."""
    oldest_first = sorted(snapshot_ids)
    if len(oldest_first) <= MANY_SNAPSHOTS:
        return []
    return oldest_first[len(oldest_first) // COLLECTED_SHARE - 1 :: -1]
