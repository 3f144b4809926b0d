"""Keeps the large segments of a lexical index out of Tantivy's merges.

Tantivy merges eight segments of one size class, and everything below ten thousand documents is one class: in a small or
medium project every eighth change would rewrite the whole index, and every fetch would download it again. So while a
change is written, the large segments are moved to another directory, where the writer does not see them; only deletes
are applied to them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

META = "meta.json"
MANAGED = ".managed.json"
_MERGE_SEGMENTS = 8  # the default of Tantivy's LogMergePolicy
_MAX_ASIDE = _MERGE_SEGMENTS - 2
_LARGE_DIVISOR = 16  # a segment is large when it holds one part in so many of all documents


def move_large_aside(path: Path) -> Path | None:
    """Move the large segments into an index of their own below `path`; None when there are too few for a merge."""
    meta = _read_meta(path)
    segments = meta["segments"]
    if len(segments) < _MAX_ASIDE:
        return None
    min_documents = sum(segment["max_doc"] for segment in segments) / _LARGE_DIVISOR
    by_size = sorted(segments, key=lambda segment: -int(segment["max_doc"]))
    large = [segment for segment in by_size[:_MAX_ASIDE] if segment["max_doc"] >= min_documents]
    small = [segment for segment in segments if segment not in large]
    aside = path / "aside"
    aside.mkdir()
    _move_files(path, aside, [_file_stem(segment) for segment in large])
    _write_meta(aside, {**meta, "segments": large})
    _write_meta(path, {**meta, "segments": small})
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
    """The fraction of stored documents that are deleted."""
    segments = _read_meta(path)["segments"]
    stored = sum(segment["max_doc"] for segment in segments)
    deleted = sum((segment.get("deletes") or {}).get("num_deleted_docs", 0) for segment in segments)
    return deleted / stored if stored else 0.0


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
    """Write `meta.json`, and `.managed.json`: the files that Tantivy may delete once no segment uses them."""
    (path / META).write_text(json.dumps(meta))
    names = {META} | {
        file.name for file in path.iterdir() if file.is_file() and not file.name.startswith(".")
    }
    (path / MANAGED).write_text(json.dumps(sorted(names)))
