"""A pool of daemon threads that can be abandoned; it yields results in order of completion, and errors as values.

A thread stuck in a socket (a server that drips headers) must neither hold the caller past its deadline nor keep the
process from ending, as the threads of the standard executor do. Many items share one deadline: answers that each come
just in time would otherwise go on for hours (EN-8).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

from gitindex.errors import RemoteTooSlow

T = TypeVar("T")
R = TypeVar("R")
_GRACE_SECONDS = 2.0  # for workers to notice `stop`


@dataclass(frozen=True, slots=True)
class CompletedTask(Generic[T, R]):
    """An item and the outcome of the work on it: a value or an exception."""

    item: T
    outcome: Callable[[], R]

    @property
    def result(self) -> R:
        """The value, or the worker's exception raised here."""
        return self.outcome()

    def check(self) -> None:
        """Raise the worker's exception, if there is one."""
        self.outcome()


def call(work: Callable[[], R], seconds: float) -> R:
    """The result of one call; its thread is abandoned when it takes longer than `seconds`.

    Raises RemoteTooSlow, and what the call raises.
    """
    finished: queue.SimpleQueue[CompletedTask[None, R]] = queue.SimpleQueue()
    threading.Thread(target=lambda: finished.put(_attempt(lambda _: work(), None)), daemon=True).start()
    return _wait_for_next(finished, seconds).result


def run(
    work: Callable[[T], R],
    items: Sequence[T],
    *,
    threads: int,
    seconds: float,
    stop: threading.Event,
    total_seconds: float,
) -> Generator[CompletedTask[T, R], None, None]:
    """Yield each item's outcome in order of completion.

    Closing the iterator sets `stop`: no further item starts, and running ones get a moment to notice.
    Raises RemoteTooSlow when no outcome arrives for `seconds`, or not all outcomes arrive within `total_seconds`: a
    worker is stuck beyond its own deadline, or all of them together are too slow.
    """
    deadline = monotonic() + total_seconds
    pending: queue.SimpleQueue[T] = queue.SimpleQueue()
    finished: queue.SimpleQueue[CompletedTask[T, R]] = queue.SimpleQueue()
    for item in items:
        pending.put(item)
    workers = [
        threading.Thread(target=_run_worker, args=(work, pending, finished, stop), daemon=True)
        for _ in range(min(threads, len(items)))
    ]
    for thread in workers:
        thread.start()
    try:
        for _ in items:
            yield _wait_for_next(finished, min(seconds, deadline - monotonic()))
    finally:
        stop.set()
        _join_workers(workers)


def _run_worker(
    work: Callable[[T], R],
    pending: queue.SimpleQueue[T],
    finished: queue.SimpleQueue[CompletedTask[T, R]],
    stop: threading.Event,
) -> None:
    while not stop.is_set():
        try:
            item = pending.get_nowait()
        except queue.Empty:
            return
        finished.put(_attempt(work, item))


def _attempt(work: Callable[[T], R], item: T) -> CompletedTask[T, R]:
    future: Future[R] = Future()
    try:
        future.set_result(work(item))
    except Exception as error:  # noqa: BLE001 (carried to the caller's thread, which decides)
        future.set_exception(error)
    return CompletedTask(item, future.result)


def _wait_for_next(finished: queue.SimpleQueue[CompletedTask[T, R]], seconds: float) -> CompletedTask[T, R]:
    try:
        return finished.get(timeout=max(0.0, seconds))
    except queue.Empty:
        raise RemoteTooSlow("the remote did not answer in the time it has", hint="try again") from None


def _join_workers(workers: Sequence[threading.Thread]) -> None:
    """Workers look at `stop` between chunks; a stuck daemon thread is abandoned."""
    deadline = monotonic() + _GRACE_SECONDS
    for thread in workers:
        thread.join(max(0.0, deadline - monotonic()))
