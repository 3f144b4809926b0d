"""Decides which snapshots stay (SN-9). Pure: time is an argument."""

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
    """A snapshot of the store, and when another one replaced it; None if unknown."""

    id: str
    replaced: Moment | None = None


def find_retained(snapshots: Iterable[SnapshotEntry], active: str, now: Moment) -> set[str]:
    """The active snapshot, the newest five that were ever active, and what was replaced within ten minutes.

    A snapshot above the active one that was never replaced was never active: a publish died before its swap.
    """
    visible = [snapshot for snapshot in snapshots if snapshot.id <= active or snapshot.replaced is not None]
    newest = sorted((snapshot.id for snapshot in visible), reverse=True)[:KEEP_AT_LEAST]
    young = (snapshot.id for snapshot in visible if _is_young(snapshot, now))
    return {active, *newest, *young}


def find_undated(snapshots: Iterable[SnapshotEntry], active: str, now: Moment) -> list[str]:
    """Replaced snapshots whose ten minutes cannot be counted: their time is unknown, or ahead of the wall clock.

    gc records `now` for them, else a clock that was wrong once would keep them for years.
    """
    return [snapshot.id for snapshot in snapshots if snapshot.id < active and not _is_dated(snapshot, now)]


def needs_collection(snapshot: SnapshotEntry, now: Moment) -> bool:
    """Whether a snapshot that is neither active nor among the newest five is to be removed, or dated, by gc."""
    return not _is_dated(snapshot, now) or not _is_young(snapshot, now)


def is_expired_staging(name: str, now: Moment) -> bool:
    """Whether a staging folder without a record is older than STAGING_TTL_MS, by the time in its name."""
    return now.wall_ms - creation_ms(name) > STAGING_TTL_MS


def _is_young(snapshot: SnapshotEntry, now: Moment) -> bool:
    return snapshot.replaced is None or elapsed_ms(snapshot.replaced, now) < KEEP_YOUNGER_MS


def _is_dated(snapshot: SnapshotEntry, now: Moment) -> bool:
    since = snapshot.replaced
    return since is not None and (has_common_clock(since, now) or since.wall_ms <= now.wall_ms)
