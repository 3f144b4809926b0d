"""EN-8: work on many items ends in time, whatever a worker does, and errors reach the caller as values."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest

from gitindex.errors import RemoteTooSlow
from gitindex.remote import pool


def run(work, items, *, threads=2, seconds=5.0, total_seconds=5.0, stop=None):
    return pool.run(
        work,
        items,
        threads=threads,
        seconds=seconds,
        stop=stop or threading.Event(),
        total_seconds=total_seconds,
    )


def test_every_item_has_one_outcome():
    outcomes = list(run(lambda number: number * number, range(20), threads=3))
    assert sorted((task.item, task.result) for task in outcomes) == [(n, n * n) for n in range(20)]


def test_an_error_is_raised_where_the_result_is_read():
    def work(number: int) -> int:
        if number == 1:
            raise ValueError("one")
        return number

    outcomes = {task.item: task for task in run(work, range(3))}
    assert outcomes[2].result == 2
    outcomes[0].check()
    with pytest.raises(ValueError, match="one"):
        outcomes[1].check()


def test_as_many_threads_as_allowed_work_at_once():
    both = threading.Barrier(2, timeout=5.0)
    for task in run(lambda _: both.wait(), range(2), threads=2):
        task.check()


def test_items_that_are_each_in_time_share_one_deadline():
    """Each answer comes within `seconds`, all of them together do not come within `total_seconds`."""
    started = time.monotonic()
    with pytest.raises(RemoteTooSlow):
        list(run(lambda _: time.sleep(0.05), range(100), threads=1, seconds=5.0, total_seconds=0.3))
    assert time.monotonic() - started < 3.0


def test_a_stuck_worker_is_abandoned():
    released = threading.Event()
    started = time.monotonic()
    try:
        with pytest.raises(RemoteTooSlow):
            list(run(lambda _: released.wait(30), [1], seconds=0.1))
        assert time.monotonic() - started < 10.0
    finally:
        released.set()


def test_closing_starts_no_further_item():
    stop, begun = threading.Event(), []

    def work(number: int) -> None:
        begun.append(number)
        if number:
            stop.wait(30)  # as a download notices it between two chunks

    with closing(run(work, range(1000), threads=1, stop=stop)) as outcomes:
        assert next(outcomes).item == 0
    assert stop.is_set()
    assert len(begun) <= 2


def test_a_call_has_a_deadline():
    assert pool.call(lambda: "answer", 5.0) == "answer"
    released = threading.Event()
    try:
        with pytest.raises(RemoteTooSlow):
            pool.call(lambda: released.wait(30), 0.05)
    finally:
        released.set()
    with pytest.raises(KeyError):
        pool.call(lambda: {}["missing"], 5.0)
