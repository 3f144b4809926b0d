"""A progress bar on a terminal, silence elsewhere. Written to stderr: stdout is for answers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_INTERVAL_SECONDS = 0.1
_WIDTH = 30


@contextmanager
def progress_bar(enabled: bool = True) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a callback (phase, done, total). The line is cleared at the end."""
    if not enabled or not sys.stderr.isatty():
        yield lambda _phase, _done, _total: None
        return
    last_drawn = 0.0

    def show(phase: str, done: int, total: int) -> None:
        nonlocal last_drawn
        if time.monotonic() - last_drawn < _INTERVAL_SECONDS and done < total:
            return
        last_drawn = time.monotonic()
        filled = _WIDTH * done // total if total else 0
        sys.stderr.write(f"\r{phase} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done:,}/{total:,}\x1b[K")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
