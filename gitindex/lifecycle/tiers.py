"""Decides which segments a compaction merges, and which stay unchanged (SN-8, RE-3). Pure.

A rewritten segment must be downloaded again by everybody who fetches, which costs more than the dead rows in it. So a
large segment stays until most of it is dead; only small neighbours are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LARGE_DIVISOR = 16  # a segment is large when it holds one part in so many of the snapshot's bytes
MAX_DEAD_FRACTION = 0.5  # beyond it, most of what a reader downloads is dead
MAX_LARGE_SEGMENTS = 8  # so that a compaction always ends with few segments
MAX_KEPT_TOMBSTONES = 100_000  # half of what makes a snapshot overdue


@dataclass(frozen=True, slots=True)
class SegmentUsage:
    """The size of a segment in bytes, and how many of its rows and exact documents are dead."""

    size: int
    rows: int = 0
    dead_rows: int = 0
    documents: int = 0
    dead_documents: int = 0
    tombstones: int = 0  # its own tombstones, plus its paths that later tombstones hide

    @property
    def dead_fraction(self) -> float:
        ratios = ((self.dead_rows, self.rows), (self.dead_documents, self.documents))
        return max(dead / total if total else 0.0 for dead, total in ratios)


def choose_runs(usages: Sequence[SegmentUsage]) -> list[range]:
    """Runs of neighbours to merge. Only neighbours, because later segments hide rows of earlier ones."""
    kept_indexes = _choose_kept(usages)
    merge_runs: list[range] = []
    for index in range(len(usages)):
        if index in kept_indexes:
            continue
        if merge_runs and merge_runs[-1].stop == index:
            merge_runs[-1] = range(merge_runs[-1].start, index + 1)
        else:
            merge_runs.append(range(index, index + 1))
    return [run for run in merge_runs if len(run) > 1 or usages[run.start].dead_fraction > MAX_DEAD_FRACTION]


def _choose_kept(usages: Sequence[SegmentUsage]) -> set[int]:
    """Indexes of the large segments that stay unchanged."""
    total = sum(usage.size for usage in usages)
    large = [
        index
        for index, usage in enumerate(usages)
        if usage.size * LARGE_DIVISOR >= total and usage.dead_fraction <= MAX_DEAD_FRACTION
    ]
    kept_indexes = sorted(large, key=lambda index: -usages[index].size)[:MAX_LARGE_SEGMENTS]
    while sum(usages[index].tombstones for index in kept_indexes) > MAX_KEPT_TOMBSTONES:
        kept_indexes.remove(max(kept_indexes, key=lambda index: usages[index].tombstones))
    return set(kept_indexes)
