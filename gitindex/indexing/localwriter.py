"""Writes in this process, and extracts in sandbox processes that may die without loss (EL-8)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from gitindex.indexing.extractionpool import ExtractionPool, PendingExtractions
from gitindex.indexing.indexwriter import ExtractedFile, FileContent, IndexWriter, Tombstone
from gitindex.model.records import FileRecord
from gitindex.segment.writer import WrittenSegment


class LocalWriter:
    """A `BatchWriter` with one `IndexWriter`. Returns records in the order of the files; skipped paths come last."""

    def __init__(self, writer: IndexWriter, pool: ExtractionPool) -> None:
        self._writer = writer
        self._pool = pool
        self._skipped: list[ExtractedFile] = []
        self._pending: deque[tuple[list[FileRecord], PendingExtractions]] = deque()

    def write(self, batch: list[FileContent]) -> list[FileRecord]:
        self._skipped += [ExtractedFile(record, None) for record, data in batch if data is None]
        files = [(record, data) for record, data in batch if data is not None]
        if files:
            extractions = self._pool.submit([(record.path, data) for record, data in files])
            self._pending.append(([record for record, _ in files], extractions))
        return self._complete_batch() if len(self._pending) > self._pool.capacity else []

    def drain(self) -> list[FileRecord]:
        completed: list[FileRecord] = []
        while self._pending:
            completed += self._complete_batch()
        completed += self._writer.add(self._skipped)
        self._writer.flush()
        return completed

    def finish(self, tombstones: Iterable[Tombstone], marker: dict[str, Any]) -> tuple[WrittenSegment, ...]:
        return self._writer.finish(tombstones, marker)

    def _complete_batch(self) -> list[FileRecord]:
        records, extractions = self._pending.popleft()
        return self._writer.add(map(ExtractedFile, records, extractions.result()))
