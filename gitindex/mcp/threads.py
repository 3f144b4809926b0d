"""Runs tool calls in daemon threads: a server whose client has gone can end while a call still runs.

The event loop's own worker threads are joined at the end of the process, so one long call would keep it alive.
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
    """At most `max_calls` calls at once; further calls wait for a free slot."""

    def __init__(self, max_calls: int) -> None:
        self._slots = asyncio.Semaphore(max_calls)
        self._running: set[threading.Thread] = set()

    async def run(self, work: Callable[[], R]) -> R:
        """The result of `work`. When the awaiting task is cancelled, the thread runs on and its result is dropped."""
        async with self._slots:
            future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
            thread = threading.Thread(
                target=self._run_call, args=(work, future), name="tool call", daemon=True
            )
            self._running.add(thread)
            thread.start()
            return await future

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait at most `seconds` for running calls to end; False when one of them still runs."""
        deadline = monotonic() + seconds
        for thread in list(self._running):
            thread.join(max(0.0, deadline - monotonic()))
        return not any(thread.is_alive() for thread in list(self._running))

    def _run_call(self, work: Callable[[], R], future: asyncio.Future[R]) -> None:
        try:
            _deliver(future, partial(future.set_result, work()))
        except Exception as error:  # noqa: BLE001 - raised again in the task that awaits it
            _deliver(future, partial(future.set_exception, error))
        finally:
            self._running.discard(threading.current_thread())


def _deliver(future: asyncio.Future[R], settle: Callable[[], None]) -> None:
    """Settle the future in the loop's thread, unless the task was cancelled."""
    with suppress(RuntimeError):  # the loop is closed: the client is gone
        future.get_loop().call_soon_threadsafe(lambda: None if future.done() else settle())
