"""`stats`: where the bytes and the milliseconds go, and what a compaction would save."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gitindex import gate
from gitindex.lifecycle import maintenance_due
from gitindex.model.manifest import Artifact, Manifest
from gitindex.ops.codebase import Codebase
from gitindex.store import log, manifests
from gitindex.view.snapshot import SnapshotView

_LAYERS = {"tables": "tables/", "facts": "segments/", "lexical": "lexical/", "snapshots": "snapshots/"}


def stats(codebase: Codebase) -> dict[str, Any]:
    """Raises Gated when the index cannot answer now."""
    with gate.open_gated(codebase) as view:
        return _measure(codebase, view)


def _measure(codebase: Codebase, view: SnapshotView) -> dict[str, Any]:
    manifest = view.manifest
    sizes = {name: _sum_sizes(manifest.artifacts(), prefix) for name, prefix in _LAYERS.items()}
    syncs = log.read_entries(codebase.layout, "sync")
    return {
        "status": "ok",
        "snapshot_id": manifest.snapshot_id,
        "bytes": {**sizes, "total": sum(sizes.values()), "text": manifest.counts.text_bytes},
        "ratio": round(sum(sizes.values()) / max(1, manifest.counts.text_bytes), 2),
        "segments": len(manifest.segments),
        "tombstones": manifest.tombstone_count,
        "rows": _count_rows(manifest),
        "compaction": _estimate_compaction(view),
        "snapshots": len(manifests.list_ids(codebase.layout)),
        "languages": dict(manifest.counts.languages),
        "embedding": {
            "identity": manifest.embedder,
            "cached_vectors": _count_cached_vectors(codebase.layout.embeddings),
            **_summarize_reuse(syncs),
        },
        "last_publish_ms": _last_publish_timings(manifest, syncs),
    }


def _count_rows(manifest: Manifest) -> dict[str, int]:
    live = manifest.counts.chunks_indexed
    return {"live": live, "dead": sum(segment.rows for segment in manifest.segments) - live}


def _estimate_compaction(view: SnapshotView) -> dict[str, Any]:
    """A segment shrinks by the share of its rows that are dead; lexical files hold few dead words and are left out."""
    saved_bytes = 0.0
    for segment_number, segment in enumerate(view.manifest.segments):
        live = sum(record.chunks for record in view.segment_records(segment_number))
        size = sum(artifact.size_bytes for artifact in segment.artifacts)
        saved_bytes += size * max(0, segment.rows - live) / max(1, segment.rows)
    return {
        "overdue": maintenance_due.is_overdue(view.manifest),
        "segments_after": min(1, len(view.manifest.segments)),
        "bytes_saved": round(saved_bytes),
    }


def _last_publish_timings(manifest: Manifest, syncs: Iterable[dict[str, Any]]) -> dict[str, int]:
    """What the manifest knows of its own making, and what only the log could: the publish and its steps."""
    timings = dict(manifest.timings_ms)
    for entry in syncs:
        if entry.get("snapshot_id") == manifest.snapshot_id and not entry.get("noop"):
            timings |= {**entry.get("timings_ms", {}), **entry.get("phases_ms", {})}
    return timings


def _summarize_reuse(syncs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Over the syncs that the log remembers."""
    entries = list(syncs)
    embedded = sum(entry.get("embedded", 0) for entry in entries)
    reused = sum(entry.get("reused", 0) for entry in entries)
    rate = round(reused / (embedded + reused), 3) if embedded + reused else None
    return {"embedded": embedded, "reused": reused, "hit_rate": rate}


def _sum_sizes(artifacts: Iterable[Artifact], prefix: str) -> int:
    return sum(artifact.size_bytes for artifact in artifacts if artifact.path.startswith(prefix))


def _count_cached_vectors(folder: Path) -> int:
    """Vectors in the cache; one that is being written or unreadable counts as empty."""
    total = 0
    for path in folder.glob("*.sqlite"):
        try:
            db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            total += db.execute("SELECT count(*) FROM vector").fetchone()[0]
            db.close()
        except sqlite3.Error:
            continue
    return total
