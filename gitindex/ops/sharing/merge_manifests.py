"""Merge the manifests of shards, whose paths are disjoint (RE-8). Reads and writes no file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gitindex.errors import PublishBlocked
from gitindex.model import portable
from gitindex.model.manifest import Counts, Manifest, Origin
from gitindex.store import state_file


def merge_manifests(parts: Sequence[Manifest], snapshot_id: str) -> Manifest:
    """The segments of all shards under one manifest; its lexical part is still the first shard's."""
    first = parts[0]
    if any(
        (part.ignore_fingerprint, part.embedder) != (first.ignore_fingerprint, first.embedder)
        for part in parts
    ):
        raise PublishBlocked("the shards were built by different rules", hint="build every shard again")
    return replace(
        first,
        snapshot_id=snapshot_id,
        parent_snapshot_id=None,
        created_at=state_file.now(),
        segments=tuple(segment for part in parts for segment in part.segments),
        overlay=portable.empty_overlay(snapshot_id),
        counts=_sum_counts(part.counts for part in parts),
        timings_ms={"total": sum(part.timings_ms.get("total", 0) for part in parts)},
        origin=Origin(),
        degraded=any(part.degraded for part in parts),
        errors=tuple(error for part in parts for error in part.errors),
    )


def _sum_counts(counts: Iterable[Counts]) -> Counts:
    numbers: Counter[str] = Counter()
    groups: dict[str, Counter[str]] = {"skipped": Counter(), "languages": Counter(), "text_only": Counter()}
    for part in counts:
        for name in Counts.__dataclass_fields__:
            if name in groups:
                groups[name].update(getattr(part, name))
            else:
                numbers[name] += getattr(part, name)
    merged: dict[str, Any] = {name: dict(sorted(group.items())) for name, group in groups.items()}
    return Counts(**{**merged, **numbers})
