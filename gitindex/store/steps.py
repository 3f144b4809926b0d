"""Named steps: every point where a crash must leave the old or the new state.

Code announces a step right before doing it. Production has no observer; crash tests install one that kills
the process, and a test fails when a step listed here is never reached by them. Whoever wants to know where the time
goes listens with `timed`.
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
SEMANTIC_STEPS: dict[str, tuple[str, ...]] = {
    "refresh": (
        "refresh.claimed",
        "refresh.indexed",
        "refresh.checked",
        "refresh.published",
        "refresh.completed",
    ),
    "import": ("import.decode", "import.write", "import.lease"),
}

_groups = (STEPS, REMOTE_STEPS, SEMANTIC_STEPS)
_known = frozenset(name for group in _groups for names in group.values() for name in names)
_observer: Callable[[str], None] | None = None
_heard: ContextVar[list[tuple[str, float]] | None] = ContextVar("heard", default=None)


def reach(name: str) -> None:
    """Announce a step. An unlisted name is a programming error, so it cannot escape the crash tests."""
    if name not in _known:
        raise KeyError(f"step {name!r} is not listed in store.steps")
    heard = _heard.get()
    if heard is not None:
        heard.append((name, time.monotonic()))
    if _observer is not None:
        _observer(name)


def observe(observer: Callable[[str], None] | None) -> None:
    """Install (or remove) the observer of this process."""
    global _observer
    _observer = observer


@contextmanager
def timed() -> Iterator[list[tuple[str, float]]]:
    """The steps this thread reaches inside the block, each with its moment."""
    heard: list[tuple[str, float]] = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)


def phases(heard: list[tuple[str, float]]) -> dict[str, int]:
    """Milliseconds from each step to the next, by the step's own name; the last one has no length."""
    return {name.rpartition(".")[2]: round((after - at) * 1000) for (name, at), (_, after) in pairwise(heard)}
