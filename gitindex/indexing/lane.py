"""One writer of segments: takes files with their extractions, embeds them in batches, and stages what it holds.

Several lanes may work side by side on disjoint files (`indexing.lanes`): a lane shares nothing but the directory in
which its segments, named apart, are staged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from gitindex.indexing.vectors import Vectors
from gitindex.model.records import FileRecord
from gitindex.model.rows import Extraction
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.segment.lexical import LexicalWriter
from gitindex.segment.writer import SegmentWriter, Written
from gitindex.store import steps

File = tuple[FileRecord, bytes | None]  # None: a path that is skipped
Extracted = tuple[FileRecord, Extraction | None]
Grave = tuple[str, str]  # path, reason
_EMBED_AT = 512


class Berth(NamedTuple):
    """Where a lane writes, and how much a segment may hold (CF-1)."""

    folder: Path  # receives the segments
    lexical: Path  # an index that exists
    snapshot_id: str
    room: int  # bytes of text per segment
    number: int = 0
    lanes: int = 1


class Lane:
    """Nothing is complete before `finish` returns."""

    def __init__(self, berth: Berth, vectors: Vectors, *, bulk: bool) -> None:
        self._berth = berth
        self._vectors = vectors
        self.words = LexicalWriter(berth.lexical, bulk=bulk)
        self._segments: list[SegmentWriter] = []
        self._room = 0
        self._waiting: list[tuple[FileRecord, Extraction]] = []
        self._waiting_chunks = 0
        self._roll()

    def add(self, files: Iterable[Extracted]) -> Iterator[FileRecord]:
        """Yields each record with what its extraction says."""
        for record, extraction in files:
            if extraction is None:
                self._segments[-1].add(record, None, ())
                yield record
                continue
            described = _described(record, extraction)
            self._waiting.append((described, extraction))
            self._waiting_chunks += len(extraction.chunks)
            if self._waiting_chunks >= _EMBED_AT:
                self.settle()
            yield described

    def settle(self) -> None:
        """Vectors for the waiting files in one batch, then everything to disk."""
        matrix = self._vectors.of([chunk for _, found in self._waiting for chunk in found.chunks])
        at = 0
        for record, extraction in self._waiting:
            vectors: Any = matrix[at : at + len(extraction.chunks)] if matrix is not None else ()
            at += len(extraction.chunks)
            if self._room < record.size:
                self._roll()
            self._room -= record.size
            self._segments[-1].add(record, extraction, vectors)
            self.words.add(record.path, record.language, extraction.chunks)
        self._waiting = []
        self._waiting_chunks = 0

    def finish(self, graves: Iterable[Grave], marker: dict[str, Any] | None) -> tuple[Written, ...]:
        """Close every file. Tombstones stand with the first segment, the marker in the last table."""
        with ThreadPoolExecutor(1) as beside:  # native code that needs nothing of the tables
            committed = beside.submit(self.words.finish)
            steps.reach("publish.chunks")
            for segment in self._segments:
                segment.write_table(marker if segment is self._segments[-1] else None)
            steps.reach("publish.facts")
            written = tuple(
                segment.write_facts(graves if segment is self._segments[0] else ())
                for segment in self._segments
            )
            steps.reach("publish.lexical")
            committed.result()
        return written

    def _roll(self) -> None:
        """A new segment: one holds at most what one sync may (CF-1), a larger tree takes several."""
        sequence = len(self._segments) * self._berth.lanes + self._berth.number
        name = f"seg_{self._berth.snapshot_id}_{sequence}"
        self._segments.append(
            SegmentWriter(self._berth.folder / name, name, self._vectors.dimension, CHUNKER_VERSION)
        )
        self._room = self._berth.room


def _described(record: FileRecord, extraction: Extraction) -> FileRecord:
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
