"""A point in time by two clocks: the wall clock, which may be set, and the time since the machine started. Pure."""

from __future__ import annotations

from gitindex.model.frozen import frozen


@frozen
class Moment:
    wall_ms: int
    boot: str = ""  # which start of the machine, "" where that is unknown
    boot_ms: int = 0  # since that start, sleep included; no program can set it


def has_common_clock(since: Moment, now: Moment) -> bool:
    """Were both read in one run of the machine?"""
    return since.boot != "" and since.boot == now.boot


def elapsed_ms(since: Moment, now: Moment) -> int:
    """Milliseconds from `since` to `now`, never below 0: what the clock places in the future happened just now.

    Within one run of the machine no setting of the wall clock matters; otherwise only the wall clock is known.
    """
    if has_common_clock(since, now):
        return max(0, now.boot_ms - since.boot_ms)
    return max(0, now.wall_ms - since.wall_ms)
