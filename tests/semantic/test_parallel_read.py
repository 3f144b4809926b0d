"""`semantic.parallel_read.HelperProcess`: what parent and helper tell each other."""

from __future__ import annotations

from multiprocessing import Pipe
from threading import Thread

from gitindex.semantic.parallel_read import HelperProcess


def test_both_sides_learn_what_either_defines():
    """A symbol that one half of the file defines may be used in the other."""
    here, there = Pipe()
    received: list[object] = []

    def help_out() -> None:
        there.send({"b": 2})
        received.append(there.recv())

    helper = Thread(target=help_out)
    helper.start()
    assert HelperProcess(here).exchange_defined({"a": 1}) == {"a": 1, "b": 2}
    helper.join(10)
    assert received == [{"a": 1}]
