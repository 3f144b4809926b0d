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
_MERGE_SEGMENTS = 8  # Tantivy's own number
_MAX_ASIDE = _MERGE_SEGMENTS - 2
_LARGE_DIVISOR = 16  # a segment is large when it holds this fraction of all documents


def move_large_aside(path: Path) -> Path | None:
    """Move the large segments into an index of their own below `path`; None when no merge threatens them."""
    meta = _read_meta(path)
    segments = meta["segments"]
    if len(segments) < _MAX_ASIDE:
        return None
    min_documents = sum(segment["max_doc"] for segment in segments) / _LARGE_DIVISOR
    by_size = sorted(segments, key=lambda one: -int(one["max_doc"]))
    large = [one for one in by_size[:_MAX_ASIDE] if one["max_doc"] >= min_documents]
    aside = path / "aside"
    aside.mkdir()
    _move_files(path, aside, [_file_stem(one) for one in large])
    for folder, part in ((aside, large), (path, [one for one in segments if one not in large])):
        _write_meta(folder, {**meta, "segments": part})
    return aside


def rejoin(path: Path, aside: Path) -> None:
    """Make both parts one index again."""
    small, large = _read_meta(path), _read_meta(aside)
    _move_files(aside, path, [_file_stem(segment) for segment in large["segments"]])
    for leftover in aside.iterdir():
        leftover.unlink()
    aside.rmdir()
    opstamp = max(small["opstamp"], large["opstamp"])
    _write_meta(path, {**small, "segments": [*large["segments"], *small["segments"]], "opstamp": opstamp})


def may_merge(path: Path) -> bool:
    """Whether Tantivy may merge committed segments as soon as something is added."""
    return len(_read_meta(path)["segments"]) >= _MERGE_SEGMENTS


def deleted_fraction(path: Path) -> float:
    """How much of the index is documents that were deleted but are still stored."""
    segments = _read_meta(path)["segments"]
    stored = sum(segment["max_doc"] for segment in segments)
    dead = sum((one.get("deletes") or {}).get("num_deleted_docs", 0) for one in segments)
    return dead / stored if stored else 0.0


def _move_files(source: Path, target: Path, stems: list[str]) -> None:
    for file in list(source.iterdir()):
        if file.is_file() and file.name.split(".")[0] in stems:
            file.rename(target / file.name)


def _file_stem(segment: dict[str, Any]) -> str:
    """A segment's files are named by its id without dashes."""
    return str(segment["segment_id"]).replace("-", "")


def _read_meta(path: Path) -> dict[str, Any]:
    meta: dict[str, Any] = json.loads((path / META).read_bytes())
    return meta


def _write_meta(path: Path, meta: dict[str, Any]) -> None:
    """The list of segments, and of the files that Tantivy may collect when they are merged away."""
    (path / META).write_text(json.dumps(meta))
    names = {META} | {
        file.name for file in path.iterdir() if file.is_file() and not file.name.startswith(".")
    }
    (path / MANAGED).write_text(json.dumps(sorted(names)))
