"""Tool calls in threads that nobody has to wait for: a server whose client is gone ends, whatever a call is doing.

The worker threads of the event loop's library are joined at the end of the process, so one long call would keep it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TypeVar

R = TypeVar("R")


class CallThreads:
    """At most `most` calls at once; further ones wait for their turn."""

    def __init__(self, max_calls: int) -> None:
        self._slots = asyncio.Semaphore(max_calls)
        self._running: set[threading.Thread] = set()

    async def run(self, work: Callable[[], R]) -> R:
        """The result of `work`; when the awaiting task is cancelled, the thread is left to itself."""
        async with self._slots:
            future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
            thread = threading.Thread(
                target=self._run_call, args=(work, future), name="tool call", daemon=True
            )
            self._running.add(thread)
            thread.start()
            return await future

    def wait_until_idle(self, seconds: float) -> bool:
        """Give running calls a moment to end; False when one of them did not."""
        deadline = monotonic() + seconds
        for thread in list(self._running):
            thread.join(max(0.0, deadline - monotonic()))
        return not any(thread.is_alive() for thread in list(self._running))

    def _run_call(self, work: Callable[[], R], future: asyncio.Future[R]) -> None:
        try:
            _deliver(future, partial(future.set_result, work()))
        except Exception as error:  # noqa: BLE001 - carried to the task that waits for it
            _deliver(future, partial(future.set_exception, error))
        finally:
            self._running.discard(threading.current_thread())


def _deliver(future: asyncio.Future[R], settle: Callable[[], None]) -> None:
    """In the thread of the loop, unless nobody waits any more."""
    with suppress(RuntimeError):  # the loop is closed: the client is gone
        future.get_loop().call_soon_threadsafe(lambda: None if future.done() else settle())
