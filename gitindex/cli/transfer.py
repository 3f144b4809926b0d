"""A progress bar for uploads and downloads, with their rate. On stderr, on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gitindex.cli import output
from gitindex.cli.progress_bar import INTERVAL_SECONDS, render_bar
from gitindex.remote.transport import OnProgress, Progress


@contextmanager
def transfer_bar(verb: str, enabled: bool = True) -> Iterator[OnProgress]:
    """Yield a callback for uploads and downloads. The line is cleared at the end."""
    if not enabled or not sys.stderr.isatty():
        yield lambda _progress: None
        return
    started_at, last_drawn = time.monotonic(), 0.0

    def show(progress: Progress) -> None:
        nonlocal last_drawn
        moment = time.monotonic()
        if moment - last_drawn < INTERVAL_SECONDS and progress.objects < progress.total_objects:
            return
        last_drawn = moment
        bar = render_bar(progress.bytes / progress.total_bytes if progress.total_bytes else 1)
        rate = output.format_size(progress.bytes / max(moment - started_at, 0.001))
        done, total = output.format_size(progress.bytes), output.format_size(progress.total_bytes)
        sys.stderr.write(
            f"\r{verb} {bar} {done} of {total}, "
            f"{progress.objects}/{progress.total_objects} objects, {rate}/s\x1b[K"
        )
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
