"""The overlay file of a snapshot: the paths read from the working tree, each with the stat of the file read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from gitindex.errors import StoreCorrupt
from gitindex.model.records import OverlayEntry


def read(path: Path) -> dict[str, OverlayEntry]:
    try:
        entries = [OverlayEntry(*json.loads(line)) for line in path.read_bytes().splitlines()]
    except (ValueError, TypeError) as error:
        raise StoreCorrupt(f"overlay {path} is malformed: {error}", hint="gitindex repair") from error
    return {entry.path: entry for entry in entries}


def write(path: Path, entries: Iterable[OverlayEntry]) -> None:
    lines = (json.dumps(list(entry), ensure_ascii=False) + "\n" for entry in sorted(entries))
    path.write_text("".join(lines), "utf-8")
