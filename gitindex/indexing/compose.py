"""The new manifest: what the parent said, minus what was replaced, plus what was written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from gitindex.model.manifest import Counts, Manifest
from gitindex.model.records import FileRecord
from gitindex.segment.chunk_table import MARKER_KIND
from gitindex.store.state_file import now


def count(
    parent: Manifest | None, before: Iterable[FileRecord], written: Iterable[FileRecord], tombstones: int
) -> Counts:
    """Counts of the live view, kept without looking at what did not change."""
    totals: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    text_only: Counter[str] = Counter()
    if parent is not None:
        kept = parent.counts
        totals.update(
            files=kept.files_indexed,
            chunks=kept.chunks_indexed,
            symbols=kept.symbols,
            edges=kept.edges,
            entities=kept.entities,
            text=kept.text_bytes,
        )
        skipped.update(kept.skipped)
        languages.update(kept.languages)
        text_only.update(kept.text_only)
    for sign, records in ((-1, before), (1, written)):
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
        skipped=_positive(skipped),
        languages=_positive(languages),
        text_only=_positive(text_only),
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


def _positive(counter: Counter[str]) -> dict[str, int]:
    return {name: value for name, value in sorted(counter.items()) if value > 0}


def marker(root: str, fingerprint: Mapping[str, Any], counts: Counts, snapshot_id: str) -> dict[str, Any]:
    """The completion marker: proof that this very snapshot was finished (C-4, [S1])."""
    return {
        "kind": MARKER_KIND,
        "codebasePath": root,
        "fingerprint": dict(fingerprint),
        "indexedFiles": counts.files_indexed,
        "totalChunks": counts.chunks_indexed,
        "completedAt": now(),
        "runId": snapshot_id,
    }
