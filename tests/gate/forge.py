"""Real stores in states that only accidents make: other markers, lost tables, rebuilds under way, dead writers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from gitindex import config
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.ops.codebase import Codebase
from gitindex.segment import chunk_table
from gitindex.segment.chunk_table import MARKER_KIND, ChunkTableWriter
from gitindex.store import integrity, lease, manifests, state_file
from gitindex.store.build_progress import mark_indexing

NO_MARKER = object()


def good_marker(codebase: Codebase) -> dict[str, Any]:
    manifest = manifests.read_active(codebase.layout)
    assert manifest is not None
    return {
        "kind": MARKER_KIND,
        "codebasePath": str(codebase.root),
        "fingerprint": config.marker_fingerprint(codebase.settings, manifest.dimension),
        "indexedFiles": manifest.counts.files_indexed,
        "totalChunks": manifest.counts.chunks_indexed,
        "completedAt": state_file.now(),
        "runId": manifest.snapshot_id,
    }


def remark(codebase: Codebase, marker: object) -> None:
    """Rewrite the newest table with another marker, and the manifest so that every checksum is right."""
    layout = codebase.layout
    manifest = manifests.read_active(layout)
    assert manifest is not None
    newest = manifest.segments[-1]
    table = layout.table(newest.id)
    forged = table.with_name("forged.lance")
    writer = ChunkTableWriter(forged, manifest.dimension, CHUNKER_VERSION)
    for batch in list(chunk_table.read_batches(table)):
        writer.add_batch(batch)
    writer.finish(None if marker is NO_MARKER else marker)  # type: ignore[arg-type]
    shutil.rmtree(table)
    forged.rename(table)
    files = sorted(path for path in table.rglob("*") if path.is_file())
    kept = [item for item in newest.artifacts if not item.path.startswith(f"tables/{newest.id}.lance/")]
    artifacts = (*kept, *(integrity.describe_artifact(layout, path) for path in files))
    segments = (*manifest.segments[:-1], replace(newest, artifacts=tuple(artifacts)))
    manifests.write(layout, replace(manifest, segments=segments))


def rewrite_table(codebase: Codebase, change: Callable[[pa.Table], pa.Table], at: int = -1) -> None:
    """Change the rows or columns of a segment's table, and the manifest so that every checksum is right."""
    layout = codebase.layout
    manifest = manifests.read_active(layout)
    assert manifest is not None
    segment = manifest.segments[at]
    table = layout.table(segment.id)
    rewrite_rows(table, change)
    files = sorted(path for path in table.rglob("*") if path.is_file())
    kept = [item for item in segment.artifacts if not item.path.startswith(f"tables/{segment.id}.lance/")]
    changed = replace(
        segment, artifacts=(*kept, *(integrity.describe_artifact(layout, path) for path in files))
    )
    segments = tuple(changed if one == segment else one for one in manifest.segments)
    manifests.write(layout, replace(manifest, segments=segments))


def rewrite_rows(table: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    import lance

    changed = change(lance.dataset(str(table)).to_table())
    shutil.rmtree(table)
    lance.write_dataset(changed, str(table), data_storage_version="2.1")


def break_probe(codebase: Codebase) -> None:
    """Make the newest table unreadable."""
    manifest = manifests.read_active(codebase.layout)
    assert manifest is not None
    table = codebase.layout.table(manifest.segments[-1].id)
    for path in table.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1])


@contextmanager
def rebuilding(codebase: Codebase) -> Iterator[None]:
    """What readers see while another process reindexes: its lease, its state, its progress."""
    with (
        lease.hold(codebase.layout, "forged") as held,
        mark_indexing(codebase.layout, held, rebuild=True) as track,
    ):
        track("extract", 1, 4)
        yield
        known = state_file.read(codebase.layout)
        assert known is not None
    before = "indexed" if known.active_snapshot_id else "indexfailed"
    state_file.write(codebase.layout, replace(known, state=before, indexing=None))


def abandon(codebase: Codebase) -> None:
    """A rebuild whose process was killed: the state says indexing, the lease names a pid that is gone."""
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    with lease.hold(codebase.layout, "forged"):
        held = json.loads(codebase.layout.lease.read_bytes())
    held |= {"pid": int(dead.stdout), "released": False}
    codebase.layout.lease.write_text(json.dumps(held))
    known = state_file.read(codebase.layout)
    assert known is not None
    progress = state_file.IndexingProgress(10.0, "extract", state_file.now())
    state_file.write(codebase.layout, replace(known, state="indexing", indexing=progress))


Stamp = tuple[int, int, int, bytes]


def stamps(folder: Path) -> dict[str, Stamp]:
    """Every file and directory below: inode, mtime, ctime, bytes."""
    found: dict[str, Stamp] = {}
    for where, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(where, name)
            info = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(folder))] = (info.st_ino, info.st_mtime_ns, info.st_ctime_ns, data)
    return found
