"""Tombstones as JSON lines: `{"path_key": …, "reason": delete | replace | rename_from}`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from gitindex.errors import StoreCorrupt


def write(path: Path, entries: Iterable[tuple[str, str]]) -> int:
    """Write (path_key, reason) pairs, sorted; returns their number."""
    lines = [
        json.dumps({"path_key": key, "reason": reason}, ensure_ascii=False) for key, reason in sorted(entries)
    ]
    path.write_text("".join(line + "\n" for line in lines), "utf-8")
    return len(lines)


def read(path: Path) -> list[str]:
    """The hidden paths. Raises StoreCorrupt for anything malformed."""
    try:
        return [json.loads(line)["path_key"] for line in path.read_bytes().splitlines()]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(f"tombstones {path} are malformed: {error}", hint="gitindex repair") from error


def count(path: Path) -> int:
    """The number of tombstones in a file; counts lines and parses none."""
    return path.read_bytes().count(b"\n")
