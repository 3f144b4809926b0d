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

    def __init__(self, most: int) -> None:
        self._turns = asyncio.Semaphore(most)
        self._running: set[threading.Thread] = set()

    async def run(self, work: Callable[[], R]) -> R:
        """The result of `work`; when the awaiting task is cancelled, the thread is left to itself."""
        async with self._turns:
            answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
            thread = threading.Thread(target=self._call, args=(work, answer), name="tool call", daemon=True)
            self._running.add(thread)
            thread.start()
            return await answer

    def leave(self, seconds: float) -> bool:
        """Give running calls a moment to end; False when one of them did not."""
        until = monotonic() + seconds
        for thread in list(self._running):
            thread.join(max(0.0, until - monotonic()))
        return not any(thread.is_alive() for thread in list(self._running))

    def _call(self, work: Callable[[], R], answer: asyncio.Future[R]) -> None:
        try:
            _deliver(answer, partial(answer.set_result, work()))
        except Exception as error:  # noqa: BLE001 - carried to the task that waits for it
            _deliver(answer, partial(answer.set_exception, error))
        finally:
            self._running.discard(threading.current_thread())


def _deliver(answer: asyncio.Future[R], settle: Callable[[], None]) -> None:
    """In the thread of the loop, unless nobody waits any more."""
    with suppress(RuntimeError):  # the loop is closed: the client is gone
        answer.get_loop().call_soon_threadsafe(lambda: None if answer.done() else settle())
