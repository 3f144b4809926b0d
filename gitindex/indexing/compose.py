"""Computes counts and completion marker of a new snapshot: the parent's, minus replaced, plus written records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from gitindex.model.manifest import Counts, Manifest
from gitindex.model.records import FileRecord
from gitindex.segment.chunk_table import MARKER_KIND
from gitindex.store.state_file import now


def compute_counts(
    parent: Manifest | None, replaced: Iterable[FileRecord], written: Iterable[FileRecord], tombstones: int
) -> Counts:
    """Counts of the live view, from the parent's counts and the records that changed."""
    totals: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    text_only: Counter[str] = Counter()
    if parent is not None:
        parent_counts = parent.counts
        totals.update(
            files=parent_counts.files_indexed,
            chunks=parent_counts.chunks_indexed,
            symbols=parent_counts.symbols,
            edges=parent_counts.edges,
            entities=parent_counts.entities,
            text=parent_counts.text_bytes,
        )
        skipped.update(parent_counts.skipped)
        languages.update(parent_counts.languages)
        text_only.update(parent_counts.text_only)
    for sign, records in ((-1, replaced), (1, written)):
        for record in records:
            _tally(totals, skipped, languages, record, sign)
            if record.text_only:
                text_only[record.text_only] += sign
    return Counts(
        files_indexed=totals["files"],
        chunks_indexed=totals["chunks"],
        symbols=totals["symbols"],
        edges=totals["edges"],
        entities=totals["entities"],
        text_bytes=totals["text"],
        tombstones_added=tombstones,
        skipped=_drop_zeroes(skipped),
        languages=_drop_zeroes(languages),
        text_only=_drop_zeroes(text_only),
    )


def _tally(
    totals: Counter[str], skipped: Counter[str], languages: Counter[str], record: FileRecord, sign: int
) -> None:
    if record.skip:
        skipped[record.skip] += sign
        return
    languages[record.language or "text"] += sign
    totals["files"] += sign
    totals["chunks"] += sign * record.chunks
    totals["symbols"] += sign * record.symbols
    totals["edges"] += sign * record.edges
    totals["entities"] += sign * record.entities
    totals["text"] += sign * record.size


def _drop_zeroes(counter: Counter[str]) -> dict[str, int]:
    return {name: value for name, value in sorted(counter.items()) if value > 0}


def build_marker(
    root: str, fingerprint: Mapping[str, Any], counts: Counts, snapshot_id: str
) -> dict[str, Any]:
    """The completion marker, which proves that this snapshot was finished (C-4, [S1])."""
    return {
        "kind": MARKER_KIND,
        "codebasePath": root,
        "fingerprint": dict(fingerprint),
        "indexedFiles": counts.files_indexed,
        "totalChunks": counts.chunks_indexed,
        "completedAt": now(),
        "runId": snapshot_id,
    }
