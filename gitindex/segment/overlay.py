"""The overlay file of a snapshot: the paths read from the working tree, each with the stat of the file read.

One JSON list per line: path, blob, size, mtime_ns, ctime_ns, inode.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from gitindex.errors import StoreCorrupt
from gitindex.model.file_stat import Stat
from gitindex.model.paths import PathKey
from gitindex.model.records import OverlayEntry


def read(path: Path) -> dict[PathKey, OverlayEntry]:
    try:
        entries = [_decode_entry(*json.loads(line)) for line in path.read_bytes().splitlines()]
    except (ValueError, TypeError) as error:
        raise StoreCorrupt(f"overlay {path} is malformed: {error}", hint="gitindex repair") from error
    return {entry.path: entry for entry in entries}


def write(path: Path, entries: Iterable[OverlayEntry]) -> None:
    rows = ([entry.path, entry.blob, *entry.stat] for entry in sorted(entries))
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def _decode_entry(path: PathKey, blob: str, *stat: int) -> OverlayEntry:
    return OverlayEntry(path, blob, Stat(*stat))
