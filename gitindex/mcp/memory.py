"""What a long-lived process does about memory that glibc keeps for itself; nothing where there is no glibc.

Calls run in many threads, and glibc gives each of up to eight per core an arena of its own: what one sync frees in one
arena is no use to the next sync in another.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

_M_ARENA_MAX = -8  # of malloc.h
_MAX_ARENAS = 2


def limit_arenas() -> None:
    """Share arenas between threads. Counts for arenas that do not exist yet, so call it before threads start."""
    libc = _load_glibc()
    if libc is not None:
        libc.mallopt(_M_ARENA_MAX, _MAX_ARENAS)


def trim_heap() -> None:
    """Return free memory to the system: a sync needs a lot of it, and the next one may be hours away."""
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
