"""Reads the clocks of this machine: wall time, and time since boot together with the identity of the boot."""

from __future__ import annotations

import os
import time
from functools import cache
from pathlib import Path

from gitindex.model.moment import Moment

_BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")
_TIME_NAMESPACE = "/proc/self/ns/time"


def read_clock() -> Moment:
    wall = time.time_ns() // 1_000_000
    boot = _clock_identity()
    return Moment(wall, boot, _since_boot_ms()) if boot else Moment(wall)


def boot_id() -> str:
    """Identifies the current boot of the machine. Raises OSError on systems without boot ids (macOS)."""
    return _BOOT_ID_FILE.read_text("ascii").strip()


@cache
def _clock_identity() -> str:
    """The boot that `_since_boot_ms` counts from, and the time namespace, which may shift it; "" where unknown."""
    try:
        return f"{boot_id()} {os.readlink(_TIME_NAMESPACE)}" if hasattr(time, "CLOCK_BOOTTIME") else ""
    except FileNotFoundError:  # no time namespaces, or no /proc at all
        return _boot_id_or_empty()


def _boot_id_or_empty() -> str:
    try:
        return boot_id()
    except OSError:
        return ""


def _since_boot_ms() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
