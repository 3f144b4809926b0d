"""`logs/sync.log.jsonl`: what happened and how long it took. Metadata only: no paths, no content (ST-2)."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from gitindex.store import atomic
from gitindex.store.layout import Layout
from gitindex.store.state import now

MAX_BYTES = 1 << 20
KEEP = 3


def append(layout: Layout, event: str, **facts: Any) -> None:
    """Add a line; rotate before it would outgrow the limit. A log that cannot be written never fails a sync."""
    line = json.dumps({"at": now(), "pid": os.getpid(), "event": event, **facts}) + "\n"
    with contextlib.suppress(OSError):
        _rotate(layout.log, len(line))
        if not layout.log.exists():
            os.close(atomic.create(layout.log))
        with open(layout.log, "a", encoding="utf-8") as handle:
            handle.write(line)


def _rotate(path: Path, coming: int) -> None:
    if not path.exists() or path.stat().st_size + coming <= MAX_BYTES:
        return
    for number in range(KEEP - 1, 0, -1):
        older = path.with_suffix(f".{number}")
        if older.exists():
            os.replace(older, path.with_suffix(f".{number + 1}"))
    os.replace(path, path.with_suffix(".1"))
