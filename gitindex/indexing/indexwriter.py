"""Writes extracted files into segments and a lexical index of its own, and embeds their chunks in batches.

Several writers may work side by side on disjoint files (`indexing.writerpool`): they share nothing but the directory
in which their segments, named apart, are staged.
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
    """Takes files in batches. A writer may work on several batches at once: what it returns is of earlier ones too."""

    def write(self, batch: list[FileContent]) -> list[FileRecord]:
        """The records that were completed meanwhile, with what was extracted."""
        ...

    def drain(self) -> list[FileRecord]:
        """The records of all batches that are still under way."""
        ...

    def finish(self, tombstones: Iterable[Tombstone], marker: dict[str, Any]) -> tuple[WrittenSegment, ...]:
        """Close every file. Tombstones stand with the first segment, the marker in the last table."""
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
    """Nothing is complete before `finish` returns."""

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
        """The record of each file, with what its extraction says."""
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
        matrix = self._vectors.embed_chunks(
            [chunk for _, pending in self._unembedded for chunk in pending.chunks]
        )
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
        """As `BatchWriter.finish`; without a marker for a writer whose table is not the last."""
        with ThreadPoolExecutor(
            1
        ) as thread:  # Tantivy's commit is native code that needs nothing of the tables
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
        """A segment holds at most what one sync may (CF-1); a larger tree takes several."""
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
