"""Keeping the large parts of a lexical index out of merges.

Tantivy merges eight segments of one size class, and counts everything below ten thousand documents as one class: in
a small or middling project every eighth change would rewrite the whole index, and every fetch download it again.
While a change is written, the large segments stand aside, out of the writer's sight; only deletes reach them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

META = "meta.json"
MANAGED = ".managed.json"
_MERGE_AT = 8  # Tantivy's own number
_KEEP = _MERGE_AT - 2
_LARGE = 16  # a segment is large when it holds this fraction of all documents


def set_aside(path: Path) -> Path | None:
    """Move the large segments into an index of their own below `path`; None when no merge threatens them."""
    meta = _read(path)
    segments = meta["segments"]
    if len(segments) < _KEEP:
        return None
    least = sum(one["max_doc"] for one in segments) / _LARGE
    by_size = sorted(segments, key=lambda one: -int(one["max_doc"]))
    large = [one for one in by_size[:_KEEP] if one["max_doc"] >= least]
    aside = path / "aside"
    aside.mkdir()
    _move(path, aside, [_stem(one) for one in large])
    for folder, chosen in ((aside, large), (path, [one for one in segments if one not in large])):
        _write(folder, {**meta, "segments": chosen})
    return aside


def bring_back(path: Path, aside: Path) -> None:
    """Make both parts one index again."""
    young, large = _read(path), _read(aside)
    _move(aside, path, [_stem(one) for one in large["segments"]])
    for left in aside.iterdir():
        left.unlink()
    aside.rmdir()
    opstamp = max(young["opstamp"], large["opstamp"])
    _write(path, {**young, "segments": [*large["segments"], *young["segments"]], "opstamp": opstamp})


def mergeable(path: Path) -> bool:
    """Whether Tantivy may merge committed segments as soon as something is added."""
    return len(_read(path)["segments"]) >= _MERGE_AT


def dead_share(path: Path) -> float:
    """How much of the index is documents that were deleted but are still stored."""
    segments = _read(path)["segments"]
    stored = sum(one["max_doc"] for one in segments)
    dead = sum((one.get("deletes") or {}).get("num_deleted_docs", 0) for one in segments)
    return dead / stored if stored else 0.0


def _move(source: Path, target: Path, stems: list[str]) -> None:
    for file in list(source.iterdir()):
        if file.is_file() and file.name.split(".")[0] in stems:
            file.rename(target / file.name)


def _stem(segment: dict[str, Any]) -> str:
    """A segment's files are named by its id without dashes."""
    return str(segment["segment_id"]).replace("-", "")


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path / META).read_bytes())
    return found


def _write(path: Path, meta: dict[str, Any]) -> None:
    """The list of segments, and of the files that Tantivy may collect when they are merged away."""
    (path / META).write_text(json.dumps(meta))
    names = {META} | {
        file.name for file in path.iterdir() if file.is_file() and not file.name.startswith(".")
    }
    (path / MANAGED).write_text(json.dumps(sorted(names)))
