"""Writes one segment into a staging directory: table, facts, path map, tombstones. Not the lexical index.

A segment is complete when `write_table` and `write_facts` have returned. Writes only to the staging directory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitindex.model.records import FileRecord
from gitindex.model.rows import Extraction
from gitindex.segment import tombstones
from gitindex.segment.chunk_table import ChunkTableWriter
from gitindex.segment.facts import FactsWriter

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class WrittenSegment:
    """What a finished segment holds."""

    id: str
    rows: int
    files: int
    tombstones: int


class SegmentWriter:
    """Writes `<id>.lance/` and the small files of the segment into `folder`."""

    def __init__(self, folder: Path, segment_id: str, dimension: int, chunker_version: str) -> None:
        self.id = segment_id
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._table = ChunkTableWriter(folder / f"{segment_id}.lance", dimension, chunker_version)
        self._facts = FactsWriter(folder / "facts.sqlite", segment_id)
        self._path_map = (folder / "segment_file_index.jsonl").open("w", encoding="utf-8")
        self._files = 0

    def add(self, record: FileRecord, extraction: Extraction | None, vectors: Sequence[Any]) -> None:
        """Add a path, with its extraction if it is indexed, None if it is skipped."""
        if extraction is not None:
            self._table.add(record.path, record.file_hash, record.language, extraction.chunks, vectors)
        self._facts.add(record, extraction)
        self._append_path(record.path, record.blob)

    def add_rows(self, batch: pa.RecordBatch) -> None:
        """Add chunk rows of another segment (compaction)."""
        self._table.add_batch(batch)

    def copy_facts(self, source: Path, live_records: Sequence[FileRecord]) -> None:
        """Add the facts of these records from another facts file (compaction)."""
        self._facts.copy(source, [record.path for record in live_records])
        for record in live_records:
            self._append_path(record.path, record.blob)

    def write_table(self, marker: dict[str, Any] | None) -> None:
        """Write the table, with the completion marker if it is the newest of its snapshot."""
        self._table.finish(marker)

    def write_facts(self, tombstone_entries: Iterable[tuple[str, str]]) -> WrittenSegment:
        """Write facts, path map and (path, reason) tombstones; call after `write_table`."""
        self._facts.finish()
        self._path_map.close()
        count = tombstones.write(self._folder / "tombstones.jsonl", tombstone_entries)
        return WrittenSegment(self.id, self._table.rows, self._files, count)

    def _append_path(self, path: str, blob: str) -> None:
        line = {"path_key": path, "segment_id": self.id, "blob": blob}
        self._path_map.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._files += 1
