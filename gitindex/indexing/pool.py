"""Extraction over many files: here for a few, in worker processes for many. Order is kept, memory is bounded."""

from __future__ import annotations

import gc
import marshal
from collections import deque
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self, TypeVar

from gitindex.indexing.batches import batches
from gitindex.model.rows import Chunk, Entity, Extraction
from gitindex.model.settings import IndexSettings

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

Batch = list[tuple[str, bytes]]
T = TypeVar("T")
_AHEAD = 3  # batches in flight per worker
# Plain tuples in the form without references: five times cheaper than pickling what they are copied from.
_MARSHAL = 2
_whole = itemgetter(slice(None))
PARALLEL_FROM = 2 * 1024 * 1024  # below this, starting workers costs more than it saves


def extractions(
    items: Iterable[tuple[T, str, bytes]], settings: IndexSettings, workers: int
) -> Iterator[tuple[T, Extraction]]:
    """(tag, path key, bytes) → (tag, extraction), in order."""
    if workers < 2:
        from gitindex.extract.extractor import extract

        for tag, path, data in items:
            yield tag, extract(path, data, settings)
        return
    with _Workers(workers) as pool:
        yield from _parallel(items, settings, pool, workers * _AHEAD)


def _parallel(
    items: Iterable[tuple[T, str, bytes]], settings: IndexSettings, pool: _Workers, ahead: int
) -> Iterator[tuple[T, Extraction]]:
    flying: deque[tuple[list[T], Batch, Future[bytes] | None]] = deque()
    for group in batches(items, lambda item: len(item[2])):
        batch = [(path, data) for _, path, data in group]
        flying.append(([tag for tag, _, _ in group], batch, pool.submit(batch, settings)))
        if len(flying) > ahead:
            yield from _landed(*flying.popleft(), settings, pool)
    while flying:
        yield from _landed(*flying.popleft(), settings, pool)


def _landed(
    tags: list[T],
    batch: Batch,
    future: Future[bytes] | None,
    settings: IndexSettings,
    pool: _Workers,
) -> Iterator[tuple[T, Extraction]]:
    found = pool.result(future)
    yield from zip(tags, found or [pool.alone(path, data, settings) for path, data in batch], strict=True)


class _Workers:
    """Processes that may die: a grammar is C code fed with anything. One dead worker costs no build.

    A batch whose worker died is done again, each file by itself; the file that kills its worker again keeps its
    text and loses its syntax.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def submit(self, batch: Batch, settings: IndexSettings) -> Future[bytes] | None:
        """None when the workers died meanwhile: the batch is then done file by file."""
        from concurrent.futures.process import BrokenProcessPool

        try:
            return self._open().submit(_extract_batch, batch, settings)
        except BrokenProcessPool:
            self._pool = None
            return None

    def result(self, future: Future[bytes] | None) -> list[Extraction] | None:
        from concurrent.futures.process import BrokenProcessPool

        try:
            return _unpacked(future.result()) if future is not None else None
        except BrokenProcessPool:
            self._pool = None
            return None

    def alone(self, path: str, data: bytes, settings: IndexSettings) -> Extraction:
        found = self.result(self.submit([(path, data)], settings) or self.submit([(path, data)], settings))
        if found is not None:
            return found[0]
        from gitindex.extract.extractor import extract

        return extract(path, data, settings, text_only=True)

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            # Forking a process that holds a heartbeat thread is not safe; spawned workers import the extractor only.
            self._pool = ProcessPoolExecutor(
                self._count, mp_context=get_context("spawn"), initializer=gc.disable
            )
        return self._pool


def _extract_batch(batch: Batch, settings: IndexSettings) -> bytes:
    from gitindex.extract.extractor import extract

    return marshal.dumps([_plain(extract(path, data, settings)) for path, data in batch], _MARSHAL)


def _plain(found: Extraction) -> tuple[Any, ...]:
    rows = (tuple(map(_whole, part)) for part in found[4:9])
    return (*found[:4], *rows, found.entity and found.entity[:], found.truncated)


def _unpacked(packed: bytes) -> list[Extraction]:
    """Chunks and entities as they were; the other rows stay plain tuples, which equal them and are only stored."""
    found: list[tuple[Any, ...]] = marshal.loads(packed)  # noqa: S302 - from our own worker
    return [
        Extraction._make((*one[:8], tuple(map(Chunk._make, one[8])), one[9] and Entity(*one[9]), one[10]))
        for one in found
    ]
