"""Readers hold this lock shared, gc holds it alone (SN-9, IDX.MUST.005)."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gitindex.errors import LeaseHeld
from gitindex.store.layout import Layout

_POLL = 0.02


class ReadersLock:
    """A shared hold that lives as long as a view does."""

    def __init__(self, layout: Layout) -> None:
        # Read-only: a reader must work on a store it may not write to.
        self._descriptor = os.open(layout.readers, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@contextmanager
def exclusive(layout: Layout, wait: float = 5.0) -> Iterator[None]:
    """No reader is inside while the body runs.

    Raises LeaseHeld when readers stay for `wait` seconds.
    """
    descriptor = os.open(layout.readers, os.O_RDWR | os.O_CLOEXEC)
    deadline = time.monotonic() + wait
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise LeaseHeld("readers are busy with this index", hint="gitindex gc") from None
                time.sleep(_POLL)
        yield
    finally:
        os.close(descriptor)
