"""Writes extracted files into segments and a lexical index, and embeds their chunks in batches.

Several writers may run in parallel on disjoint files (`indexing.writerpool`): they share only the staging directory, in
which their segments have different names.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gitindex.indexing.vectors import Vectors
from gitindex.model.records import FileRecord
from gitindex.model.rows import Extraction
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.segment.lexical_index import LexicalWriter
from gitindex.segment.writer import SegmentWriter, WrittenSegment
from gitindex.store import steps

Tombstone = tuple[str, str]  # path, reason
_EMBED_BATCH = 512  # chunks


class FileContent(NamedTuple):
    """A file to index. `data` is None for a path that is skipped."""

    record: FileRecord
    data: bytes | None

    @property
    def size(self) -> int:
        return len(self.data or b"")


class ExtractedFile(NamedTuple):
    """`extraction` is None for a path that is skipped."""

    record: FileRecord
    extraction: Extraction | None


class BatchWriter(Protocol):
    """Writes files in batches. May work on several at once, so `write` may return records of earlier batches."""

    def write(self, batch: list[FileContent]) -> list[FileRecord]:
        """Submit a batch; returns the records that were completed meanwhile, filled from their extraction."""
        ...

    def drain(self) -> list[FileRecord]:
        """Wait for all pending batches; returns their records."""
        ...

    def finish(self, tombstones: Iterable[Tombstone], marker: dict[str, Any]) -> tuple[WrittenSegment, ...]:
        """Close every file. The first segment gets the tombstones, the last table the marker."""
        ...


class WriterTarget(NamedTuple):
    """Where a writer writes, and how much a segment may hold (CF-1)."""

    folder: Path  # receives the segments
    lexical: Path  # an index that exists
    snapshot_id: str
    segment_bytes: int  # of text
    number: int = 0  # this writer among `writers`
    writers: int = 1


class IndexWriter:
    """Writes segments and lexical index of one target. Nothing is complete before `finish` returns."""

    def __init__(self, target: WriterTarget, vectors: Vectors, *, bulk: bool) -> None:
        self._target = target
        self._vectors = vectors
        self.lexical = LexicalWriter(target.lexical, bulk=bulk)
        self._segments: list[SegmentWriter] = []
        self._bytes_left = 0
        self._unembedded: list[tuple[FileRecord, Extraction]] = []
        self._unembedded_chunks = 0
        self._start_segment()

    def add(self, files: Iterable[ExtractedFile]) -> list[FileRecord]:
        """Add files; returns the record of each, filled from its extraction."""
        return [self._add(file) for file in files]

    def _add(self, file: ExtractedFile) -> FileRecord:
        if file.extraction is None:
            self._segments[-1].add(file.record, None, ())
            return file.record
        record = _fill_record(file.record, file.extraction)
        self._unembedded.append((record, file.extraction))
        self._unembedded_chunks += len(file.extraction.chunks)
        if self._unembedded_chunks >= _EMBED_BATCH:
            self.flush()
        return record

    def flush(self) -> None:
        """Embed the chunks of the waiting files in one batch, then write the files."""
        chunks = [chunk for _, extraction in self._unembedded for chunk in extraction.chunks]
        matrix = self._vectors.embed_chunks(chunks)
        row = 0
        for record, extraction in self._unembedded:
            vectors: Any = matrix[row : row + len(extraction.chunks)] if matrix is not None else ()
            row += len(extraction.chunks)
            if self._bytes_left < record.size:
                self._start_segment()
            self._bytes_left -= record.size
            self._segments[-1].add(record, extraction, vectors)
            self.lexical.add(record.path, record.language, extraction.chunks)
        self._unembedded = []
        self._unembedded_chunks = 0

    def finish(
        self, tombstones: Iterable[Tombstone], marker: dict[str, Any] | None
    ) -> tuple[WrittenSegment, ...]:
        """As `BatchWriter.finish`; `marker` is None for a writer whose table is not the last of the snapshot."""
        # Tantivy's commit is native code and independent of the tables: run it beside them.
        with ThreadPoolExecutor(1) as thread:
            lexical_commit = thread.submit(self.lexical.finish)
            steps.reach("publish.chunks")
            for segment in self._segments:
                segment.write_table(marker if segment is self._segments[-1] else None)
            steps.reach("publish.facts")
            written = tuple(
                segment.write_facts(tombstones if segment is self._segments[0] else ())
                for segment in self._segments
            )
            steps.reach("publish.lexical")
            lexical_commit.result()
        return written

    def _start_segment(self) -> None:
        """Start a segment; each holds at most the bytes that one sync may have (CF-1)."""
        # Numbers of parallel writers interleave, so that their names differ.
        sequence = len(self._segments) * self._target.writers + self._target.number
        name = f"seg_{self._target.snapshot_id}_{sequence}"
        self._segments.append(
            SegmentWriter(self._target.folder / name, name, self._vectors.dimension, CHUNKER_VERSION)
        )
        self._bytes_left = self._target.segment_bytes


def _fill_record(record: FileRecord, extraction: Extraction) -> FileRecord:
    return record._replace(
        language=extraction.language,
        lines=extraction.lines,
        chunks=len(extraction.chunks),
        symbols=len(extraction.symbols),
        edges=len(extraction.imports) + len(extraction.calls),
        entities=1 if extraction.entity is not None else 0,
        parse_error=extraction.parse_error,
        truncated=extraction.truncated,
        interface_hash=extraction.interface_hash,
        text_only=extraction.text_only,
    )
