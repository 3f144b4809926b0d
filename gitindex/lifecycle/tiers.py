"""Which segments a compaction merges, and which stay byte for byte (SN-8, RE-3). Pure.

A segment that is shared with others is worth more than the dead rows in it cost: rewriting it makes everybody who
fetches download it again. So a large segment stays until most of it is dead; only small neighbours are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LARGE_DIVISOR = 16  # a segment is large when it holds this fraction of the snapshot's bytes
MAX_DEAD_FRACTION = 0.5  # beyond it, less than half of what a reader downloads is of any use
MAX_LARGE_SEGMENTS = 8  # at most so many large ones, so that a compaction always ends with few segments
MAX_KEPT_TOMBSTONES = 100_000  # half of what makes a snapshot overdue


@dataclass(frozen=True, slots=True)
class SegmentUsage:
    """One segment: its bytes, its rows and exact documents, and what of them is dead."""

    size: int
    rows: int = 0
    dead_rows: int = 0
    documents: int = 0
    dead_documents: int = 0
    tombstones: int = 0  # tombstones it carries, and those that hide paths of it

    @property
    def dead_fraction(self) -> float:
        ratios = ((self.dead_rows, self.rows), (self.dead_documents, self.documents))
        return max(dead / total if total else 0.0 for dead, total in ratios)


def choose_runs(usages: Sequence[SegmentUsage]) -> list[range]:
    """Neighbours to merge, each run into one place: order decides what hides what, so nothing jumps a neighbour."""
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
    total = sum(usage.size for usage in usages)
    large = [
        index
        for index, weight in enumerate(usages)
        if weight.size * LARGE_DIVISOR >= total and weight.dead_fraction <= MAX_DEAD_FRACTION
    ]
    kept_indexes = sorted(large, key=lambda at: -usages[at].size)[:MAX_LARGE_SEGMENTS]
    while sum(usages[at].tombstones for at in kept_indexes) > MAX_KEPT_TOMBSTONES:
        kept_indexes.remove(max(kept_indexes, key=lambda at: usages[at].tombstones))
    return set(kept_indexes)
