"""Which snapshots stay (SN-9). Pure: ids and a clock in, a decision out."""

from __future__ import annotations

from collections.abc import Iterable

KEEP_AT_LEAST = 5
KEEP_YOUNGER_MS = 10 * 60 * 1000
STAGING_TTL_MS = 30 * 60 * 1000
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def retained(ids: Iterable[str], active: str, now_ms: int) -> set[str]:
    """The active snapshot, the newest five before it, and everything younger than ten minutes.

    Snapshots newer than the active one were never visible: a publish died before its swap.
    """
    published = sorted((found for found in ids if found <= active), reverse=True)
    keep = set(published[:KEEP_AT_LEAST]) | {active}
    keep.update(found for found in published if now_ms - born_ms(found) < KEEP_YOUNGER_MS)
    return keep


def expired_staging(txn: str, now_ms: int) -> bool:
    return now_ms - born_ms(txn) > STAGING_TTL_MS


def born_ms(ulid: str) -> int:
    """The time an id was made; 0 for a name that is no id, so that it counts as ancient."""
    value = 0
    for sign in ulid[:10]:
        at = _CROCKFORD.find(sign)
        if at < 0:
            return 0
        value = value << 5 | at
    return value
