"""Acting on a plan: read, extract, embed, and write segments and the lexical index into staging.

Nothing here is visible to anybody: `store.publish` makes it so. Memory is bounded by the segment size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gitindex.extract.collection import no_collection
from gitindex.extract.versions import CHUNKER_VERSION
from gitindex.files.policy import Policy
from gitindex.indexing import plan as planning
from gitindex.indexing.compose import count
from gitindex.indexing.plan import Plan, Work
from gitindex.indexing.pool import PARALLEL_FROM, extractions
from gitindex.indexing.vectors import Vectors
from gitindex.model.changes import ChangeSet
from gitindex.model.ids import sha256_hex
from gitindex.model.manifest import Artifact, Counts, FileError
from gitindex.model.records import FileRecord, OverlayEntry
from gitindex.model.rows import Extraction
from gitindex.model.settings import IndexSettings
from gitindex.model.skips import Skip
from gitindex.segment import lexical, overlay
from gitindex.segment.lexical import LexicalWriter
from gitindex.segment.writer import SegmentWriter, Written
from gitindex.source.candidate import Content, Source
from gitindex.store import publish, steps
from gitindex.store.clone import clone_lexical
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView

Progress = Callable[[str, int, int], None]  # phase, done, total
_EMBED_AT = 512


@dataclass(frozen=True, slots=True)
class Task:
    """Everything a write needs to know."""

    layout: Layout
    snapshot_id: str
    source: Source
    policy: Policy
    settings: IndexSettings
    vectors: Vectors
    parent: SnapshotView | None  # whose segments stay; None: a snapshot from nothing
    marker: Callable[[Counts], dict[str, Any]]
    check: Callable[[], None]  # raises when the lease is lost
    unlist: frozenset[str] = frozenset()  # documents to drop besides those the plan replaces (repair)
    workers: int = 1
    progress: Progress = field(default=lambda _phase, _done, _total: None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was written, and what it means for the live view."""

    staged: publish.Staged
    plan: Plan
    written: Mapping[str, FileRecord]
    changes: ChangeSet
    errors: tuple[FileError, ...]
    counts: Counts
    embedder: str
    dimension: int


def write(task: Task, plan: Plan) -> Outcome:
    """Write `plan` into a staging directory of its own."""
    with no_collection():
        return _write(task, plan)


def _write(task: Task, plan: Plan) -> Outcome:
    folder = publish.begin(task.layout, task.snapshot_id)
    linked = _start_lexical(task, folder / "lexical")
    run = _Run(task, plan, folder)
    run.index()
    plan = run.settled_plan()
    changed = planning.changes(plan, run.written)
    buried = planning.graves(plan, changed, run.written)
    kept = task.parent.manifest if task.parent else None
    counts = count(kept, plan.before.values() if kept else (), run.written.values(), len(buried))
    segments = run.finish(buried, task.marker(counts))
    overlay.write(folder / "overlay.jsonl", plan.overlay.values())
    staged = publish.Staged(folder, segments, _kind(task), linked, frozenset(run.written))
    return Outcome(
        staged, plan, run.written, changed, (*plan.errors, *run.errors), counts, *task.vectors.identified
    )


def _kind(task: Task) -> str:
    return "base" if task.parent is None else "delta"


def _start_lexical(task: Task, target: Path) -> Mapping[int, Artifact]:
    if task.parent is None:
        lexical.create(target)
        return {}
    return clone_lexical(task.parent.manifest, task.parent.verifier, target)


class _Run:
    """One pass over the plan's paths."""

    def __init__(self, task: Task, plan: Plan, folder: Path) -> None:
        self._task = task
        self._plan = plan
        self._folder = folder
        self._bulk = len(plan.write) > 200
        self._words = LexicalWriter(folder / "lexical", bulk=self._bulk)
        self._segments: list[SegmentWriter] = []
        self._room = 0
        self._waiting: list[tuple[FileRecord, Extraction]] = []
        self._waiting_chunks = 0
        self.written: dict[str, FileRecord] = {}
        self.errors: list[FileError] = []
        self._vanished: list[str] = []
        self._stats: dict[str, OverlayEntry] = {}
        self._roll()

    def index(self) -> None:
        for key in {key for key, record in self._plan.before.items() if not record.skip} | self._task.unlist:
            self._words.delete(key)
        total = len(self._plan.write)
        for done, (record, extraction) in enumerate(self._extracted(), 1):
            self._add(record, extraction)
            self._task.progress("indexing", done, total)
        self._embed_waiting()

    def settled_plan(self) -> Plan:
        """The plan as it came out: files that vanished meanwhile are deletions."""
        gone = {*self._plan.gone, *(key for key in self._vanished if key in self._plan.before)}
        return replace(self._plan, gone=tuple(sorted(gone)), overlay={**self._plan.overlay, **self._stats})

    def finish(self, graves: list[tuple[str, str]], marker: dict[str, Any]) -> tuple[Written, ...]:
        """Close every file. Tombstones stand with the first new segment, the marker in the newest table."""
        self._task.check()
        with ThreadPoolExecutor(1) as beside:  # native code that needs nothing of the tables
            committed = beside.submit(self._words.finish)
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

    def _extracted(self) -> Iterator[tuple[FileRecord, Extraction | None]]:
        """Records in plan order per kind: skips first, then files with their extraction."""
        reading = [work for work in self._plan.write if work.item is not None]
        for work in self._plan.write:
            if work.item is None:
                yield _skipped(work, work.skip or Skip.UNREADABLE, work.size), None
        skipped: list[FileRecord] = []
        items = ((record, record.path, data) for record, data in self._read(reading, skipped))
        yield from extractions(items, self._task.settings, self._workers(reading))
        yield from ((record, None) for record in skipped)

    def _workers(self, reading: list[Work]) -> int:
        # Sizes of blobs are unknown before they are read; 8 KiB is a usual source file.
        return self._task.workers if len(reading) * 8192 >= PARALLEL_FROM else 1

    def _read(self, works: list[Work], skipped: list[FileRecord]) -> Iterator[tuple[FileRecord, bytes]]:
        contents = self._task.source.read([work.item for work in works if work.item is not None])
        for work, (_, content) in zip(works, contents, strict=True):
            record = self._judge(work, content)
            if record is not None and record.skip:
                skipped.append(record)
            elif record is not None:
                yield record, content.data

    def _judge(self, work: Work, content: Content) -> FileRecord | None:
        """The record of what was really read; None when the file is gone."""
        if content.vanished:
            self._vanished.append(work.key)
            return None
        if content.error:
            self.errors.append(FileError("unreadable_file", content.error, work.key))
            return _skipped(work, Skip.UNREADABLE, 0)
        if content.stat is not None and not work.link:
            self._stats[work.key] = content.stat
        blob = work.blob if work.link else content.blob
        skip = content.skip or self._task.policy.content_skip(work.key, content.data)
        if skip is not None:
            return FileRecord(work.key, blob, content.blob, work.link, content.size, skip)
        return FileRecord(
            work.key, blob, content.blob, work.link, content.size, "", file_hash=sha256_hex(content.data)
        )

    def _add(self, record: FileRecord, extraction: Extraction | None) -> None:
        if extraction is None:
            self.written[record.path] = record
            self._segments[-1].add(record, None, ())
            return
        self._waiting.append((_described(record, extraction), extraction))
        self._waiting_chunks += len(extraction.chunks)
        if self._waiting_chunks >= _EMBED_AT:
            self._embed_waiting()

    def _embed_waiting(self) -> None:
        """Vectors for the waiting files in one batch, then everything to disk."""
        self._task.check()
        matrix = self._task.vectors.of([chunk for _, found in self._waiting for chunk in found.chunks])
        at = 0
        for record, extraction in self._waiting:
            vectors: Any = matrix[at : at + len(extraction.chunks)] if matrix is not None else ()
            at += len(extraction.chunks)
            if self._room < record.size:
                self._roll()
            self._room -= record.size
            self._segments[-1].add(record, extraction, vectors)
            self._words.add(record.path, record.language, extraction.chunks)
            self.written[record.path] = record
        self._waiting = []
        self._waiting_chunks = 0

    def _roll(self) -> None:
        """A new segment: one holds at most what one sync may (CF-1), a larger tree takes several."""
        name = f"seg_{self._task.snapshot_id}_{len(self._segments)}"
        self._segments.append(
            SegmentWriter(self._folder / name, name, self._task.vectors.dimension, CHUNKER_VERSION)
        )
        self._room = self._task.settings.limits.sync_bytes


def _skipped(work: Work, skip: Skip, size: int) -> FileRecord:
    return FileRecord(work.key, work.blob, "", work.link, size, skip)


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
    )
