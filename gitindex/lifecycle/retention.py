"""Which snapshots stay (SN-9). Pure: what is known of each and a clock in, a decision out."""

from __future__ import annotations

from collections.abc import Iterable

from gitindex.model.frozen import frozen
from gitindex.model.ids import creation_ms
from gitindex.model.moment import Moment, elapsed_ms, has_common_clock

KEEP_AT_LEAST = 5
KEEP_YOUNGER_MS = 10 * 60 * 1000
STAGING_TTL_MS = 30 * 60 * 1000


@frozen
class SnapshotEntry:
    """A snapshot of the store, and when another one took its place; None where nothing tells."""

    id: str
    replaced: Moment | None = None


def find_retained(snapshots: Iterable[SnapshotEntry], active: str, now: Moment) -> set[str]:
    """The active snapshot, the newest five that were ever active, and what was replaced within ten minutes.

    A snapshot above the active one that was never replaced was never active: a publish died before its swap.
    """
    visible = [snapshot for snapshot in snapshots if snapshot.id <= active or snapshot.replaced is not None]
    newest = sorted((one.id for one in visible), reverse=True)[:KEEP_AT_LEAST]
    return {active, *newest, *(one.id for one in visible if _is_young(one, now))}


def find_undated(snapshots: Iterable[SnapshotEntry], active: str, now: Moment) -> list[str]:
    """Replaced snapshots whose ten minutes cannot be counted: their time is unknown, or ahead of the wall clock.

    Counting begins anew with `now`, else a clock that was wrong once would keep them for years.
    """
    return [snapshot.id for snapshot in snapshots if snapshot.id < active and not _is_dated(snapshot, now)]


def is_expired_staging(name: str, now: Moment) -> bool:
    """For what nobody says to own: older than half an hour, by its name; one from the future is young."""
    return now.wall_ms - creation_ms(name) > STAGING_TTL_MS


def _is_young(snapshot: SnapshotEntry, now: Moment) -> bool:
    return snapshot.replaced is None or elapsed_ms(snapshot.replaced, now) < KEEP_YOUNGER_MS


def _is_dated(snapshot: SnapshotEntry, now: Moment) -> bool:
    since = snapshot.replaced
    return since is not None and (has_common_clock(since, now) or since.wall_ms <= now.wall_ms)
