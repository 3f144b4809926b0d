"""A progress bar for bytes on the wire, with their rate. On stderr, on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gitindex.cli import output
from gitindex.remote.transport import OnProgress, Progress

_EVERY = 0.1
_WIDTH = 30


@contextmanager
def transfer_bar(verb: str, enabled: bool = True) -> Iterator[OnProgress]:
    """A callback for uploads and downloads. The line is wiped at the end."""
    if not enabled or not sys.stderr.isatty():
        yield lambda _progress: None
        return
    started, last = time.monotonic(), 0.0

    def show(now: Progress) -> None:
        nonlocal last
        moment = time.monotonic()
        if moment - last < _EVERY and now.objects < now.total_objects:
            return
        last = moment
        filled = _WIDTH * now.bytes // now.total_bytes if now.total_bytes else _WIDTH
        rate = output.size(now.bytes / max(moment - started, 0.001))
        sys.stderr.write(
            f"\r{verb} [{'#' * filled}{'.' * (_WIDTH - filled)}] {output.size(now.bytes)} of "
            f"{output.size(now.total_bytes)}, {now.objects}/{now.total_objects} objects, {rate}/s\x1b[K"
        )
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
