"""`logs/sync.log.jsonl`: events of a store and their durations. Holds no paths and no content (ST-2)."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from gitindex.store import atomic
from gitindex.store.layout import Layout
from gitindex.store.state_file import now

MAX_BYTES = 1 << 20
ROTATED_FILES = 3


def append(layout: Layout, event: str, **facts: Any) -> None:
    """Append a line, rotating the file before it exceeds MAX_BYTES. Ignores errors: logging must not fail a sync."""
    line = json.dumps({"at": now(), "pid": os.getpid(), "event": event, **facts}) + "\n"
    with contextlib.suppress(OSError):
        _rotate(layout.log, len(line))
        if not layout.log.exists():
            os.close(atomic.create(layout.log))
        with open(layout.log, "a", encoding="utf-8") as handle:
            handle.write(line)


def read_entries(layout: Layout, event: str) -> list[dict[str, Any]]:
    """Lines about `event` in the current file, oldest first; skips lines that are not JSON objects."""
    try:
        lines = layout.log.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    matching = []
    for line in lines:
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict) and entry.get("event") == event:
                matching.append(entry)
    return matching


def _rotate(path: Path, added_bytes: int) -> None:
    if not path.exists() or path.stat().st_size + added_bytes <= MAX_BYTES:
        return
    for number in range(ROTATED_FILES - 1, 0, -1):
        older = path.with_suffix(f".{number}")
        if older.exists():
            os.replace(older, path.with_suffix(f".{number + 1}"))
    os.replace(path, path.with_suffix(".1"))
