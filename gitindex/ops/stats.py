"""`stats`: where the bytes and the milliseconds go."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from gitindex.lifecycle import compact
from gitindex.ops.codebase import Codebase
from gitindex.store import manifests
from gitindex.view.snapshot import SnapshotView

_LAYERS = {"tables": "tables/", "facts": "segments/", "lexical": "lexical/", "snapshots": "snapshots/"}


def stats(codebase: Codebase, view: SnapshotView) -> dict[str, Any]:
    manifest = view.manifest
    sizes = {name: _size(manifest.artifacts(), prefix) for name, prefix in _LAYERS.items()}
    rows = sum(segment.rows for segment in manifest.segments)
    dead = rows - manifest.counts.chunks_indexed
    return {
        "status": "ok",
        "snapshot_id": manifest.snapshot_id,
        "bytes": {**sizes, "total": sum(sizes.values()), "text": manifest.counts.text_bytes},
        "ratio": round(sum(sizes.values()) / max(1, manifest.counts.text_bytes), 2),
        "segments": len(manifest.segments),
        "tombstones": manifest.tombstone_count,
        "rows": {"live": manifest.counts.chunks_indexed, "dead": dead},
        "compaction": {
            "overdue": compact.overdue(manifest),
            "segments_after": 1 if manifest.segments else 0,
            "bytes_saved": round(sizes["tables"] * dead / rows) if rows else 0,
        },
        "snapshots": len(manifests.ids(codebase.layout)),
        "languages": dict(manifest.counts.languages),
        "embedding": {"identity": manifest.embedder, "cached_vectors": _cached(codebase.layout.embeddings)},
        "last_publish_ms": dict(manifest.timings_ms),
    }


def _size(artifacts: Any, prefix: str) -> int:
    return sum(artifact.size_bytes for artifact in artifacts if artifact.path.startswith(prefix))


def _cached(folder: Path) -> int:
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
