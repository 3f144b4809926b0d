"""Counts of a new snapshot from its parent and the records that changed (SN-2)."""

from __future__ import annotations

from dataclasses import replace

from gitindex.indexing.compose import build_marker, compute_counts
from gitindex.model.manifest import Counts
from gitindex.model.records import FileRecord
from gitindex.segment.chunk_table import MARKER_KIND
from tests.versions.stored import full_manifest

INDEXED = FileRecord(
    "a.py", "b1", "b1", False, 100, "", language="python", chunks=3, symbols=5, edges=7, entities=1
)
SKIPPED = FileRecord("a.bin", "b2", "", False, 9, "binary")


def test_counts_of_a_first_snapshot() -> None:
    plain_text = INDEXED._replace(path="notes", language="", text_only="time", entities=0)
    counts = compute_counts(None, (), [INDEXED, plain_text, SKIPPED], tombstones=2)
    assert counts == Counts(
        files_indexed=2,
        chunks_indexed=6,
        symbols=10,
        edges=14,
        entities=1,
        text_bytes=200,
        tombstones_added=2,
        skipped={"binary": 1},
        languages={"python": 1, "text": 1},
        text_only={"time": 1},
    )


def test_replaced_records_are_subtracted_and_empty_entries_dropped() -> None:
    first = compute_counts(None, (), [INDEXED, SKIPPED], tombstones=0)
    parent = replace(full_manifest(), counts=first)
    rewritten = INDEXED._replace(size=40, chunks=1, symbols=2, edges=0, entities=0, language="rust")
    counts = compute_counts(parent, [INDEXED, SKIPPED], [rewritten], tombstones=1)
    assert counts == compute_counts(None, (), [rewritten], tombstones=1)
    assert (counts.skipped, counts.languages) == ({}, {"rust": 1})


def test_the_marker_names_its_snapshot_and_its_counts() -> None:
    marker = build_marker("/root", {"config": "c"}, Counts(files_indexed=4, chunks_indexed=9), "S1")
    completed_at = marker.pop("completedAt")
    assert completed_at
    assert marker == {
        "kind": MARKER_KIND,
        "codebasePath": "/root",
        "fingerprint": {"config": "c"},
        "indexedFiles": 4,
        "totalChunks": 9,
        "runId": "S1",
    }
