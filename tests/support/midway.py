"""Acting in the middle of a real operation: an observer of the named steps, gone when the block ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gitindex.store import steps


@contextmanager
def during(act: Callable[[str], None]) -> Iterator[None]:
    steps.observe(act)
    try:
        yield
    finally:
        steps.observe(None)


@contextmanager
def once_at(step: str, act: Callable[[], object]) -> Iterator[None]:
    """Call `act` the first time `step` is reached; nested operations inside it are not observed."""
    waiting = [act]

    def observer(reached: str) -> None:
        if reached == step and waiting:
            waiting.pop()()

    with during(observer):
        yield
    assert not waiting, f"{step} was never reached"
