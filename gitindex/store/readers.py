"""The readers lock: readers hold it shared, gc exclusively (SN-9, IDX.MUST.005). Both give up after a while (EN-8)."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gitindex.errors import LeaseHeld
from gitindex.store.layout import Layout

WAIT_SECONDS = 5.0  # longer than a collection takes; callers can try again
_POLL = 0.02  # seconds


class ReadersLock:
    """The lock, held shared until `close`; a view keeps it as long as it lives."""

    def __init__(self, layout: Layout, wait: float = WAIT_SECONDS) -> None:
        """Raises LeaseHeld when another process holds the lock exclusively for `wait` seconds."""
        # Opened read-only: readers need no write access to the store.
        self._descriptor = os.open(layout.readers_lock, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _flock_within(self._descriptor, fcntl.LOCK_SH, wait, _busy_error(layout, wait))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@contextmanager
def lock_exclusively(layout: Layout, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Keep readers out while the body runs.

    Raises LeaseHeld when readers hold the lock for `wait` seconds.
    """
    refusal = LeaseHeld("readers are busy with this index", hint="gitindex gc")
    descriptor = os.open(layout.readers_lock, os.O_RDWR | os.O_CLOEXEC)
    try:
        _flock_within(descriptor, fcntl.LOCK_EX, wait, refusal)
        yield
    finally:
        os.close(descriptor)


def _busy_error(layout: Layout, wait: float) -> LeaseHeld:
    return LeaseHeld(
        f"another process has kept the index {layout.id} to itself for {wait:g} s; nothing was read",
        hint="try again",
    )


def _flock_within(descriptor: int, kind: int, wait: float, refusal: LeaseHeld) -> None:
    """Poll for the lock, as a blocking `flock` has no timeout. Raises `refusal` after `wait` seconds."""
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise refusal from None
            time.sleep(_POLL)
