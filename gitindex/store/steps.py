"""Named steps: every point where a crash must leave the old or the new state.

Code announces a step right before doing it. Production has no observer; crash tests install one that kills
the process, and a test fails when a step listed here is never reached by them. Whoever wants to know where the time
goes listens with `record_steps`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise

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

# Sharing has a campaign of its own: its steps need a remote.
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

# So has a refresh: its steps need an indexer. Those of a publish lie between `import.lease` and `refresh.published`.
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

_step_groups = (STEPS, REMOTE_STEPS, EXACT_STEPS)
_step_names = frozenset(name for group in _step_groups for names in group.values() for name in names)
_observer: Callable[[str], None] | None = None
_recording: ContextVar[list[tuple[str, float]] | None] = ContextVar("heard", default=None)


def reach(name: str) -> None:
    """Announce a step. An unlisted name is a programming error, so it cannot escape the crash tests."""
    if name not in _step_names:
        raise KeyError(f"step {name!r} is not listed in store.steps")
    recorded_steps = _recording.get()
    if recorded_steps is not None:
        recorded_steps.append((name, time.monotonic()))
    if _observer is not None:
        _observer(name)


def observe(observer: Callable[[str], None] | None) -> None:
    """Install (or remove) the observer of this process."""
    global _observer
    _observer = observer


@contextmanager
def record_steps() -> Iterator[list[tuple[str, float]]]:
    """The steps this thread reaches inside the block, each with its moment."""
    recorded_steps: list[tuple[str, float]] = []
    token = _recording.set(recorded_steps)
    try:
        yield recorded_steps
    finally:
        _recording.reset(token)


def phase_durations(recorded_steps: list[tuple[str, float]]) -> dict[str, int]:
    """Milliseconds from each step to the next, by the step's own name; the last one has no length."""
    return {
        name.rpartition(".")[2]: round((end - start) * 1000)
        for (name, start), (_, end) in pairwise(recorded_steps)
    }
