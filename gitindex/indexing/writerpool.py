"""Runs several index writers in parallel, one process each.

The parent sends the bytes of files and receives one record per file; each process writes its segments directly into
staging, so extraction, embedding and writing use every core. When a process dies (grammars are C code that parses
untrusted files), its segments are lost: `WriterDied` tells the caller to write everything again with `LocalWriter`.
"""

from __future__ import annotations

import os
import socket
import struct
from collections import deque
from collections.abc import Iterable
from multiprocessing.connection import Pipe, wait
from pathlib import Path
from typing import Any, Self

from gitindex import launch
from gitindex.indexing.indexwriter import FileContent, Tombstone, WriterTarget
from gitindex.model.records import FileRecord
from gitindex.model.settings import EmbedSettings, IndexSettings
from gitindex.segment import chunk_table
from gitindex.segment.lexicalunion import unite
from gitindex.segment.writer import WrittenSegment
from gitindex.store import atomic, steps

MAX_PROCESSES = 4  # each writes a segment of its own, and readers open every segment
ANSWER_TIMEOUT = 300.0  # seconds; a worker that is silent longer counts as dead
PROCESS_MODULE = "gitindex.indexing.writerprocess"


class WriterDied(Exception):
    """A process of the pool ended without an answer."""


class WriterPool:
    """Writer processes, which load their libraries while the caller still plans. Leaving the context kills them."""

    def __init__(self, count: int) -> None:
        self.workers = [_Worker() for _ in range(min(count, MAX_PROCESSES))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.terminate()


class PoolWriter:
    """A `BatchWriter` that gives each batch to whichever process of a pool is free."""

    def __init__(
        self,
        pool: WriterPool,
        folder: Path,
        snapshot_id: str,
        settings: IndexSettings,
        embedding: EmbedSettings,
    ) -> None:
        self._workers = pool.workers
        self._lexical = folder / "lexical"
        count = len(self._workers)
        self._parts = [folder / f"lexical_{number}" for number in range(count)]
        segment_bytes = settings.limits.sync_bytes
        for number, (worker, part) in enumerate(zip(self._workers, self._parts, strict=True)):
            target = WriterTarget(
                folder=folder,
                lexical=part,
                snapshot_id=snapshot_id,
                segment_bytes=segment_bytes,
                number=number,
                writers=count,
            )
            worker.assign(target, settings, embedding)
        self._free = deque(self._workers)

    def write(self, batch: list[FileContent]) -> list[FileRecord]:
        completed = [] if self._free else self._wait_for_records()
        self._free.popleft().submit(batch)
        return completed

    def drain(self) -> list[FileRecord]:
        completed: list[FileRecord] = []
        while len(self._free) < len(self._workers):
            completed += self._wait_for_records()
        return completed

    def finish(self, tombstones: Iterable[Tombstone], marker: dict[str, Any]) -> tuple[WrittenSegment, ...]:
        first, last = self._workers[0], self._workers[-1]
        steps.reach("publish.chunks")
        for worker in self._workers:
            worker.finish(list(tombstones) if worker is first else [], marker if worker is last else None)
        chunk_table.load()  # the publish will read a table: import the library while the workers write
        steps.reach("publish.facts")
        written = tuple(segment for worker in self._workers for segment in worker.receive())
        steps.reach("publish.lexical")
        unite(self._parts, self._lexical, atomic.link_or_copy)
        for part in self._parts:
            atomic.remove_tree(part)
        return written

    def _wait_for_records(self) -> list[FileRecord]:
        """Wait until a worker has answered; returns the records of all that have. Raises WriterDied."""
        busy = [worker for worker in self._workers if worker not in self._free]
        ready = wait([worker.pipe for worker in busy], ANSWER_TIMEOUT)
        if not ready:
            raise WriterDied
        completed: list[FileRecord] = []
        for worker in busy:
            if worker.pipe in ready:
                completed += worker.receive()
                self._free.append(worker)
        return completed


class _Worker:
    """The parent's end of one writer process."""

    def __init__(self) -> None:
        self.pipe, child_end = Pipe()
        self._process = launch.start(
            PROCESS_MODULE, str(child_end.fileno()), descriptors=(child_end.fileno(),)
        )
        child_end.close()
        _set_send_timeout(self.pipe.fileno())

    def assign(self, target: WriterTarget, settings: IndexSettings, embedding: EmbedSettings) -> None:
        self._send((target, settings, embedding))

    def submit(self, batch: list[FileContent]) -> None:
        self._send(batch)

    def finish(self, tombstones: list[Tombstone], marker: dict[str, Any] | None) -> None:
        self._send([])  # an empty batch: no more files
        self._send((tombstones, marker))

    def receive(self) -> Any:
        """The next answer. Raises WriterDied, or the exception that the process sent."""
        if not self.pipe.poll(ANSWER_TIMEOUT):
            raise WriterDied
        try:
            answer = self.pipe.recv()
        except (EOFError, ConnectionError) as error:
            raise WriterDied from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def terminate(self) -> None:
        self.pipe.close()
        self._process.kill()
        self._process.communicate()

    def _send(self, message: object) -> None:
        try:
            self.pipe.send(message)
        except (ConnectionError, BlockingIOError) as error:
            raise WriterDied from error


def _set_send_timeout(pipe: int) -> None:
    """Limit how long a send may block, because a suspended process reads nothing."""
    with socket.socket(fileno=os.dup(pipe)) as sock:
        timeval = struct.pack("ll", int(ANSWER_TIMEOUT), 0)  # seconds, microseconds
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeval)
