"""Makes glibc return free memory to the system in a long-lived process; does nothing without glibc.

Calls run in many threads, and glibc gives threads separate arenas, up to eight per core: memory that one sync frees
in its arena cannot serve the next sync in another.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

_M_ARENA_MAX = -8  # mallopt parameter, from malloc.h
_MAX_ARENAS = 2


def limit_arenas() -> None:
    """Make threads share arenas. Has no effect on existing arenas, so call it before threads start."""
    libc = _load_glibc()
    if libc is not None:
        libc.mallopt(_M_ARENA_MAX, _MAX_ARENAS)


def trim_heap() -> None:
    """Return free memory to the system: a sync needs a lot, and the next one may be hours later."""
    libc = _load_glibc()
    if libc is not None:
        libc.malloc_trim(0)


@lru_cache(maxsize=1)
def _load_glibc() -> ctypes.CDLL | None:
    try:
        libc = ctypes.CDLL(None)
    except OSError:
        return None
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None
