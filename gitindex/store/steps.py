"""Named steps: every point where a crash must leave the old or the new state.

Code announces each step right before it runs. Production has no observer; crash tests install one that kills the
process, and a test fails when they never reach a step listed here. `record_steps` collects the times for reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import NamedTuple

STEPS: dict[str, tuple[str, ...]] = {
    "publish": (
        "publish.stage",
        "publish.chunks",
        "publish.facts",
        "publish.lexical",
        "publish.flush",
        "publish.hash",
        "publish.install",
        "publish.manifest",
        "publish.preflight",
        "publish.gate",
        "publish.swap",
        "publish.state",
        "publish.done",
    ),
    "seed": ("seed.link", "seed.linked"),
    "compact": ("compact.read", "compact.build", "compact.publish"),
    "gc": ("gc.plan", "gc.snapshots", "gc.segments", "gc.lexical", "gc.staging", "gc.done"),
    "upgrade": ("upgrade.validate", "upgrade.publish"),
    "repair": ("repair.plan", "repair.publish"),
}

# Sharing has its own crash campaign: these steps need a remote.
REMOTE_STEPS: dict[str, tuple[str, ...]] = {
    "push": ("push.pack", "push.objects", "push.toc", "push.manifest", "push.done"),
    "fetch": (
        "fetch.find",
        "fetch.download",
        "fetch.staged",
        "fetch.install",
        "fetch.installed",
        "fetch.done",
    ),
}

# So has a refresh: these steps need an indexer. Those of a publish lie between `import.lease` and `refresh.published`.
EXACT_STEPS: dict[str, tuple[str, ...]] = {
    "refresh": (
        "refresh.claimed",
        "refresh.indexed",
        "refresh.checked",
        "refresh.published",
        "refresh.completed",
    ),
    "import": ("import.decode", "import.write", "import.lease"),
}


class ReachedStep(NamedTuple):
    """A step with its time, in seconds of the monotonic clock."""

    name: str
    time: float


_step_groups = (STEPS, REMOTE_STEPS, EXACT_STEPS)
_step_names = frozenset(name for group in _step_groups for names in group.values() for name in names)
_observer: Callable[[str], None] | None = None
_recording: ContextVar[list[ReachedStep] | None] = ContextVar("recorded_steps", default=None)


def reach(name: str) -> None:
    """Announce a step. Raises KeyError for an unlisted name, so that no step escapes the crash tests."""
    if name not in _step_names:
        raise KeyError(f"step {name!r} is not listed in store.steps")
    recorded_steps = _recording.get()
    if recorded_steps is not None:
        recorded_steps.append(ReachedStep(name, time.monotonic()))
    if _observer is not None:
        _observer(name)


def observe(observer: Callable[[str], None] | None) -> None:
    """Install (or remove) the observer of this process."""
    global _observer
    _observer = observer


@contextmanager
def record_steps() -> Iterator[list[ReachedStep]]:
    """Collect the steps that this thread reaches inside the block."""
    recorded_steps: list[ReachedStep] = []
    token = _recording.set(recorded_steps)
    try:
        yield recorded_steps
    finally:
        _recording.reset(token)


def phase_durations(recorded_steps: list[ReachedStep]) -> dict[str, int]:
    """Milliseconds from each step to the next, by the last part of the step's name; the last step has none."""
    return {
        step.name.rpartition(".")[2]: round((following.time - step.time) * 1000)
        for step, following in pairwise(recorded_steps)
    }
