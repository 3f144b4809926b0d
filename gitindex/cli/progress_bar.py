"""A progress bar on a terminal, silence elsewhere. Written to stderr: stdout is for answers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERVAL_SECONDS = 0.1  # between two drawings
_WIDTH = 30  # characters of the bar


def render_bar(filled_part: float) -> str:
    """A bar of which `filled_part`, 0 to 1, is filled; rounded down."""
    filled = int(_WIDTH * filled_part)
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}]"


@contextmanager
def progress_bar(enabled: bool = True) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a callback (phase, done, total). The line is cleared at the end."""
    if not enabled or not sys.stderr.isatty():
        yield lambda _phase, _done, _total: None
        return
    last_drawn = 0.0

    def show(phase: str, done: int, total: int) -> None:
        nonlocal last_drawn
        if time.monotonic() - last_drawn < INTERVAL_SECONDS and done < total:
            return
        last_drawn = time.monotonic()
        sys.stderr.write(f"\r{phase} {render_bar(done / total if total else 0)} {done:,}/{total:,}\x1b[K")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
