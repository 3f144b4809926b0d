"""Readers hold this lock shared, gc holds it alone (SN-9, IDX.MUST.005). Neither waits for ever (EN-8)."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gitindex.errors import LeaseHeld
from gitindex.store.layout import Layout

WAIT_SECONDS = 5.0  # seconds for either side: a collection takes less, and whoever asks can ask again
_POLL = 0.02


class ReadersLock:
    """A shared hold that lives as long as a view does."""

    def __init__(self, layout: Layout, wait: float = WAIT_SECONDS) -> None:
        """Raises LeaseHeld when somebody holds the lock alone for `wait` seconds."""
        # Read-only: a reader must work on a store it may not write to.
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
    """No reader is inside while the body runs.

    Raises LeaseHeld when readers stay for `wait` seconds.
    """
    descriptor = os.open(layout.readers_lock, os.O_RDWR | os.O_CLOEXEC)
    try:
        _flock_within(
            descriptor,
            fcntl.LOCK_EX,
            wait,
            LeaseHeld("readers are busy with this index", hint="gitindex gc"),
        )
        yield
    finally:
        os.close(descriptor)


def _busy_error(layout: Layout, wait: float) -> LeaseHeld:
    return LeaseHeld(
        f"another process has kept the index {layout.id} to itself for {wait:g} s; nothing was read",
        hint="try again",
    )


def _flock_within(descriptor: int, kind: int, wait: float, refusal: LeaseHeld) -> None:
    """`flock` itself would wait as long as the holder likes."""
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise refusal from None
            time.sleep(_POLL)
