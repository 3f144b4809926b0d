"""Acting on a plan: read, extract, embed, and write segments and the lexical index into staging.

Nothing here is visible to anybody: `store.publish` makes it so. Memory is bounded by the segment size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gitindex.extract.collection import no_collection
from gitindex.files.policy import Policy
from gitindex.indexing import plan as planning
from gitindex.indexing.compose import count
from gitindex.indexing.lane import Berth, Extracted, File, Grave, Lane
from gitindex.indexing.plan import Plan, Work
from gitindex.indexing.pool import PARALLEL_FROM, extractions
from gitindex.indexing.vectors import Vectors
from gitindex.model.changes import ChangeSet
from gitindex.model.ids import sha256_hex
from gitindex.model.manifest import Artifact, Counts, FileError
from gitindex.model.records import FileRecord, OverlayEntry
from gitindex.model.settings import EmbedSettings, IndexSettings
from gitindex.model.skips import Skip
from gitindex.segment import lexical, overlay
from gitindex.segment.writer import Written
from gitindex.source.candidate import Content, Source
from gitindex.store import publish, staging
from gitindex.store.clone import clone_lexical
from gitindex.view.snapshot import SnapshotView

if TYPE_CHECKING:
    from gitindex.indexing.lanes import Crew

Progress = Callable[[str, int, int], None]  # phase, done, total
_BULK = 200  # files
_CHECK_EVERY = 64


@dataclass(frozen=True, slots=True)
class Task:
    """Everything a write needs to know."""

    folder: Path  # to write into, empty
    snapshot_id: str
    source: Source
    policy: Policy
    settings: IndexSettings
    vectors: Vectors
    embedding: EmbedSettings
    parent: SnapshotView | None  # whose segments stay; None: a snapshot from nothing
    marker: Callable[[Counts], dict[str, Any]]
    check: Callable[[], None]  # raises when the lease is lost
    unlist: frozenset[str] = frozenset()  # documents to drop besides those the plan replaces (repair)
    workers: int = 1
    crew: Crew | None = None  # hired while the plan was made
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
    """Write `plan` into the staging directory of its task."""
    with no_collection():
        return _write(task, plan)


def _write(task: Task, plan: Plan) -> Outcome:
    folder = task.folder
    workers = workers_for(sum(work.item is not None for work in plan.write), task.workers)
    if workers > 1 and task.parent is None and task.vectors.cheap:
        outcome = _side_by_side(task, plan, folder, workers)
        if outcome is not None:
            return outcome
    linked = _start_lexical(task, folder / "lexical")
    return _through(_Careful(task, folder, plan, workers), task, plan, folder, linked)


def _side_by_side(task: Task, plan: Plan, folder: Path, workers: int) -> Outcome | None:
    """None, and an empty folder, when some file killed its lane."""
    from gitindex.indexing.lanes import Crew, LaneDied, Lanes  # only a large tree pays for the import

    try:
        with task.crew or Crew(workers) as crew:
            lanes = Lanes(crew, folder, task.snapshot_id, task.settings, task.embedding)
            return _through(lanes, task, plan, folder, {})
    except LaneDied:
        staging.clear(folder)
        return None


def _through(sink: _Sink, task: Task, plan: Plan, folder: Path, linked: Mapping[int, Artifact]) -> Outcome:
    run = _Run(task, plan)
    run.index(sink)
    plan = run.settled_plan()
    changed = planning.changes(plan, run.written)
    buried = planning.graves(plan, changed, run.written)
    kept = task.parent.manifest if task.parent else None
    counts = count(kept, plan.before.values() if kept else (), run.written.values(), len(buried))
    task.check()
    segments = sink.finish(buried, task.marker(counts))
    overlay.write(folder / "overlay.jsonl", plan.overlay.values())
    staged = publish.Staged(folder, segments, _kind(task), linked, frozenset(run.written))
    return Outcome(
        staged, plan, run.written, changed, (*plan.errors, *run.errors), counts, *task.vectors.identified
    )


def workers_for(files: int, most: int) -> int:
    """How many processes reading this many files is worth."""
    # Sizes of blobs are unknown before they are read; 8 KiB is a usual source file.
    return most if files * 8192 >= PARALLEL_FROM else 1


def _kind(task: Task) -> str:
    return "base" if task.parent is None else "delta"


def _start_lexical(task: Task, target: Path) -> Mapping[int, Artifact]:
    if task.parent is None:
        lexical.create(target)
        return {}
    return clone_lexical(task.parent.manifest, task.parent.verifier, target)


class _Sink(Protocol):
    """Where files go: one lane in this process, or several in others."""

    def fill(self, files: Iterable[File]) -> Iterator[FileRecord]: ...

    def finish(self, graves: Iterable[Grave], marker: dict[str, Any]) -> tuple[Written, ...]: ...


class _Careful:
    """One lane here. Extraction runs apart where there is enough of it, and survives its own death."""

    def __init__(self, task: Task, folder: Path, plan: Plan, workers: int) -> None:
        room = task.settings.limits.sync_bytes
        berth = Berth(folder, folder / "lexical", task.snapshot_id, room)
        self._lane = Lane(berth, task.vectors, bulk=len(plan.write) > _BULK)
        self._settings = task.settings
        self._workers = workers
        for key in {key for key, record in plan.before.items() if not record.skip} | task.unlist:
            self._lane.words.delete(key)

    def fill(self, files: Iterable[File]) -> Iterator[FileRecord]:
        skips: list[Extracted] = []

        def readable() -> Iterator[tuple[FileRecord, str, bytes]]:
            for record, data in files:
                if data is None:
                    skips.append((record, None))
                else:
                    yield record, record.path, data

        yield from self._lane.add(extractions(readable(), self._settings, self._workers))
        yield from self._lane.add(skips)
        self._lane.settle()

    def finish(self, graves: Iterable[Grave], marker: dict[str, Any]) -> tuple[Written, ...]:
        return self._lane.finish(graves, marker)


class _Run:
    """One pass over the plan's paths."""

    def __init__(self, task: Task, plan: Plan) -> None:
        self._task = task
        self._plan = plan
        self.written: dict[str, FileRecord] = {}
        self.errors: list[FileError] = []
        self._vanished: list[str] = []
        self._stats: dict[str, OverlayEntry] = {}

    def index(self, sink: _Sink) -> None:
        total = len(self._plan.write)
        for done, record in enumerate(sink.fill(self._files()), 1):
            self.written[record.path] = record
            if done % _CHECK_EVERY == 0:
                self._task.check()
            self._task.progress("indexing", done, total)

    def settled_plan(self) -> Plan:
        """The plan as it came out: files that vanished meanwhile are deletions."""
        gone = {*self._plan.gone, *(key for key in self._vanished if key in self._plan.before)}
        return replace(self._plan, gone=tuple(sorted(gone)), overlay={**self._plan.overlay, **self._stats})

    def _files(self) -> Iterator[File]:
        """Skips first, then what can be read."""
        for work in self._plan.write:
            if work.item is None:
                yield _skipped(work, work.skip or Skip.UNREADABLE, work.size), None
        yield from self._read([work for work in self._plan.write if work.item is not None])

    def _read(self, works: list[Work]) -> Iterator[File]:
        contents = self._task.source.read([work.item for work in works if work.item is not None])
        for work, (_, content) in zip(works, contents, strict=True):
            record = self._judge(work, content)
            if record is not None:
                yield record, None if record.skip else content.data

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


def _skipped(work: Work, skip: Skip, size: int) -> FileRecord:
    return FileRecord(work.key, work.blob, "", work.link, size, skip)
