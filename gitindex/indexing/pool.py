"""Extraction over many files: here for a few, in worker processes for many. Order is kept, memory is bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from gitindex.model.rows import Extraction
from gitindex.model.settings import IndexSettings

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
_BATCH_BYTES = 256 * 1024
_BATCH_FILES = 64
_AHEAD = 3  # batches in flight per worker
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
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Forking a process that holds a heartbeat thread is not safe; spawned workers import only the extractor.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from _parallel(items, settings, pool.submit, workers * _AHEAD)


def _parallel(
    items: Iterable[tuple[T, str, bytes]],
    settings: IndexSettings,
    submit: Callable[..., Future[list[Extraction]]],
    ahead: int,
) -> Iterator[tuple[T, Extraction]]:
    flying: deque[tuple[list[T], Future[list[Extraction]]]] = deque()
    for tags, batch in _batches(items):
        flying.append((tags, submit(_extract_batch, batch, settings)))
        if len(flying) > ahead:
            yield from _landed(*flying.popleft())
    while flying:
        yield from _landed(*flying.popleft())


def _landed(tags: list[T], future: Future[list[Extraction]]) -> Iterator[tuple[T, Extraction]]:
    yield from zip(tags, future.result(), strict=True)


def _batches(items: Iterable[tuple[T, str, bytes]]) -> Iterator[tuple[list[T], list[tuple[str, bytes]]]]:
    tags: list[T] = []
    batch: list[tuple[str, bytes]] = []
    size = 0
    for tag, path, data in items:
        tags.append(tag)
        batch.append((path, data))
        size += len(data)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield tags, batch
            tags, batch, size = [], [], 0
    if batch:
        yield tags, batch


def _extract_batch(batch: list[tuple[str, bytes]], settings: IndexSettings) -> list[Extraction]:
    from gitindex.extract.extractor import extract

    return [extract(path, data, settings) for path, data in batch]
