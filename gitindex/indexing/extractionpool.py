"""Extracts many files in sandbox processes that may die (EL-8). Keeps the order of files; memory is bounded.

A file that exceeds its limits ends its process and is indexed as text, without syntax; other files are not affected.
"""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any, Protocol, Self

from gitindex.extract import file_limits, sandbox
from gitindex.extract.sandbox import Sandbox, SandboxDied, SandboxStalled
from gitindex.files.language import language_of
from gitindex.model import textonly
from gitindex.model.rows import Chunk, Entity, Extraction
from gitindex.model.settings import IndexSettings

Batch = list[tuple[str, bytes]]
_BATCHES_PER_WORKER = 3  # batches in flight per worker
MIN_PARALLEL_BYTES = 2 * 1024 * 1024  # below this, starting workers costs more than it saves
_WORKER = "gitindex.extract.parser_process"


def extract_file(path: str, data: bytes, settings: IndexSettings) -> Extraction:
    """Extract one file, outside of any build."""
    with sandbox.borrow_sandbox() as box:
        return _extract(box, [(path, data)], settings, file_limits.Allowance())[0]


class PendingExtractions(Protocol):
    def result(self) -> list[Extraction]: ...


class ExtractionPool(Protocol):
    """`capacity`: how many batches may be pending before the caller should wait for one."""

    capacity: int

    def submit(self, batch: Batch) -> PendingExtractions: ...


class InlineExtraction:
    """Extracts each batch at once in a borrowed sandbox, without threads: enough for a few files."""

    capacity = 0

    def __init__(self, settings: IndexSettings) -> None:
        self._settings = settings
        self._allowance = file_limits.Allowance()

    def submit(self, batch: Batch) -> PendingExtractions:
        with sandbox.borrow_sandbox() as box:
            return _FinishedExtractions(_extract(box, batch, self._settings, self._allowance))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return


class _FinishedExtractions:
    def __init__(self, extractions: list[Extraction]) -> None:
        self._extractions = extractions

    def result(self) -> list[Extraction]:
        return self._extractions


class SandboxPool:
    """Several sandboxes, with one thread each that waits for its answers."""

    def __init__(self, workers: int, settings: IndexSettings) -> None:
        from concurrent.futures import ThreadPoolExecutor  # late: a few files need no threads

        self.capacity = workers * _BATCHES_PER_WORKER
        self._settings = settings
        self._allowance = file_limits.Allowance()
        self._boxes = [Sandbox() for _ in range(workers)]
        self._free: SimpleQueue[Sandbox] = SimpleQueue()
        for box in self._boxes:
            box.start()
            self._free.put(box)
        self._threads = ThreadPoolExecutor(workers)

    def submit(self, batch: Batch) -> PendingExtractions:
        return self._threads.submit(self._run, batch)

    def _run(self, batch: Batch) -> list[Extraction]:
        box = self._free.get()
        try:
            return _extract(box, batch, self._settings, self._allowance)
        finally:
            self._free.put(box)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for box in self._boxes:
            box.close()  # ends the wait of its thread
        self._threads.shutdown()


def open_pool(workers: int, settings: IndexSettings) -> InlineExtraction | SandboxPool:
    return InlineExtraction(settings) if workers < 2 else SandboxPool(workers, settings)


def _extract(
    box: Sandbox, batch: Batch, settings: IndexSettings, allowance: file_limits.Allowance
) -> list[Extraction]:
    """Extract every file of a batch. A file that ends its process is extracted again as text; the rest continues in a
    new process."""
    extractions: list[Extraction] = []
    stalled_at = -1
    while len(extractions) < len(batch):
        text_only = textonly.BUDGET if allowance.is_spent else ""
        remaining = [(path, data, text_only) for path, data in batch[len(extractions) :]]
        try:
            for seconds, packed in box.stream(_WORKER, "extract_files", remaining, settings):
                allowance.charge(seconds, len(batch[len(extractions)][1]))
                extractions.append(_unpack_extraction(packed))
        except SandboxDied as death:
            if isinstance(death, SandboxStalled) and stalled_at != len(extractions):
                stalled_at = len(extractions)  # may have been suspended from outside: try the file once more
                continue
            path, data = batch[len(extractions)]
            allowance.charge(file_limits.seconds_for(len(data)), len(data))
            extractions.append(_extract_text(box, path, data, settings, death.reason))
    return extractions


def _extract_text(box: Sandbox, path: str, data: bytes, settings: IndexSettings, reason: str) -> Extraction:
    """Extract a file that exceeded a limit as text; if that exceeds a limit too, as a file without content."""
    try:
        [(_, packed)] = box.stream(_WORKER, "extract_files", [(path, data, reason)], settings)
    except SandboxDied as death:
        return Extraction(
            language=language_of(path, data[:256]),
            parse_error=True,
            lines=0,
            interface_hash="",
            symbols=(),
            imports=(),
            calls=(),
            identifiers=(),
            chunks=(),
            entity=None,
            truncated=True,
            text_only=death.reason,
        )
    return _unpack_extraction(packed)


def _unpack_extraction(packed: tuple[Any, ...]) -> Extraction:
    """Restore the types of chunks and entity, which are read by name. The other rows stay plain tuples: only stored."""
    extraction = Extraction._make(packed)
    chunks = tuple(map(Chunk._make, extraction.chunks))
    entity = Entity(*extraction.entity) if extraction.entity else None
    return extraction._replace(chunks=chunks, entity=entity)
