"""Tool calls in threads: bounded, their errors carried over, none waited for at the end (EN-8)."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gitindex.mcp.threads import CallThreads


def test_results_and_errors_reach_the_caller():
    async def run() -> int:
        threads = CallThreads(2)
        with pytest.raises(ValueError, match="no"):
            await threads.run(lambda: int("no"))
        return await threads.run(lambda: 41 + 1)

    assert asyncio.run(run()) == 42


def test_no_more_calls_run_than_there_are_slots():
    lock, running, most = threading.Lock(), 0, 0
    gate = threading.Event()

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == 2:
                gate.set()
        gate.wait(10)
        with lock:
            running -= 1

    async def run() -> None:
        threads = CallThreads(2)
        await asyncio.gather(*(threads.run(work) for _ in range(6)))

    asyncio.run(run())
    assert most == 2


def test_a_call_that_does_not_end_is_reported_and_not_waited_for():
    release = threading.Event()

    async def run() -> tuple[bool, bool]:
        threads = CallThreads(1)
        call = asyncio.create_task(threads.run(lambda: release.wait(10)))
        await asyncio.sleep(0.05)
        busy = threads.wait_until_idle(0.01)
        release.set()
        await call
        return busy, threads.wait_until_idle(1.0)

    assert asyncio.run(run()) == (False, True)


def test_a_cancelled_call_ends_without_a_listener():
    release, ended = threading.Event(), threading.Event()

    def work() -> None:
        release.wait(10)
        ended.set()

    async def run() -> None:
        threads = CallThreads(1)
        call = asyncio.create_task(threads.run(work))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        release.set()
        assert threads.wait_until_idle(5.0)

    asyncio.run(run())
    assert ended.is_set()
