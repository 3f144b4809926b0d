"""Which snapshots stay (SN-9). Pure: ids and a clock in, a decision out."""

from __future__ import annotations

from collections.abc import Iterable

from gitindex.model.ids import born_ms

KEEP_AT_LEAST = 5
KEEP_YOUNGER_MS = 10 * 60 * 1000
STAGING_TTL_MS = 30 * 60 * 1000


def retained(ids: Iterable[str], active: str, now_ms: int) -> set[str]:
    """The active snapshot, the newest five before it, and everything younger than ten minutes.

    Snapshots newer than the active one were never visible: a publish died before its swap. Ids far ahead of the clock
    come from a clock that was wrong once (LE-3): they are not young, else nothing would be collected for years.
    """
    published = sorted((found for found in ids if found <= active), reverse=True)
    keep = set(published[:KEEP_AT_LEAST]) | {active}
    keep.update(found for found in published if abs(now_ms - born_ms(found)) < KEEP_YOUNGER_MS)
    return keep


def expired_staging(txn: str, now_ms: int) -> bool:
    return abs(now_ms - born_ms(txn)) > STAGING_TTL_MS
