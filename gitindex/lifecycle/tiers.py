"""Which segments a compaction merges, and which stay byte for byte (SN-8, RE-3). Pure.

A segment that is shared with others is worth more than the dead rows in it cost: rewriting it makes everybody who
fetches download it again. So a large segment stays until most of it is dead; only small neighbours are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LARGE = 16  # a segment is large when it holds this fraction of the snapshot's bytes
MOST_DEAD = 0.5  # beyond it, less than half of what a reader downloads is of any use
MOST_KEPT = 8  # at most so many large ones, so that a compaction always ends with few segments
MOST_GRAVES = 100_000  # half of what makes a snapshot overdue


@dataclass(frozen=True, slots=True)
class Weight:
    """One segment: its bytes, its rows and exact documents, and what of them is dead."""

    size: int
    rows: int = 0
    dead_rows: int = 0
    documents: int = 0
    dead_documents: int = 0
    graves: int = 0  # tombstones it carries, and those that hide paths of it

    @property
    def dead(self) -> float:
        shares = ((self.dead_rows, self.rows), (self.dead_documents, self.documents))
        return max(dead / total if total else 0.0 for dead, total in shares)


def runs(weights: Sequence[Weight]) -> list[range]:
    """Neighbours to merge, each run into one place: order decides what hides what, so nothing jumps a neighbour."""
    kept = _kept(weights)
    found: list[range] = []
    for at in range(len(weights)):
        if at in kept:
            continue
        if found and found[-1].stop == at:
            found[-1] = range(found[-1].start, at + 1)
        else:
            found.append(range(at, at + 1))
    return [run for run in found if len(run) > 1 or weights[run.start].dead > MOST_DEAD]


def _kept(weights: Sequence[Weight]) -> set[int]:
    total = sum(weight.size for weight in weights)
    large = [
        at for at, weight in enumerate(weights) if weight.size * LARGE >= total and weight.dead <= MOST_DEAD
    ]
    kept = sorted(large, key=lambda at: -weights[at].size)[:MOST_KEPT]
    while sum(weights[at].graves for at in kept) > MOST_GRAVES:
        kept.remove(max(kept, key=lambda at: weights[at].graves))
    return set(kept)
