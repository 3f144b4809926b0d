"""Download many objects at once: limit each to its signed size, hash it as it arrives, then unpack it (RE-3).

A partial body stays under `<partials>/<sha256>`; the next attempt, or the next run, resumes it by range. That directory
belongs to one download at a time. Only whole, verified content reaches its destination. The first object that fails
stops the download; failures are not recorded. An unpacked file is flushed while others still arrive; making its name
durable is left to the installer.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from gitindex.errors import ChecksumMismatch, RemoteTooSlow, RemoteUnavailable, StorageFull
from gitindex.remote import pool, stored_objects
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.remote.transport import OnProgress, Progress, RemoteStream, Timeouts, Transport

THREADS = 16
_SPARE_BYTES = 64 * 1024 * 1024
_BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PendingDownload:
    """An object and the files to write its content to."""

    key: str
    packed: PackedArtifact
    destinations: tuple[Path, ...]


@dataclass(slots=True)
class _DownloadJob:
    transport: Transport
    partials: Path
    timeouts: Timeouts
    on_progress: OnProgress
    progress: Progress
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    received: int = 0

    def count_received(self, amount: int) -> None:
        with self.lock:
            self.received += amount
        self.report_progress(amount)

    def report_progress(self, amount: int, finished_objects: int = 0) -> None:
        """A body that started over counts twice in `received`, but the progress never exceeds its total."""
        with self.lock:
            previous = self.progress
            received_bytes = min(previous.bytes + amount, previous.total_bytes)
            self.progress = previous._replace(
                objects=previous.objects + finished_objects, bytes=received_bytes
            )
            self.on_progress(self.progress)


def download(
    transport: Transport,
    downloads: Sequence[PendingDownload],
    partials: Path,
    *,
    on_progress: OnProgress = lambda _: None,
    threads: int = THREADS,
    timeouts: Timeouts | None = None,
) -> int:
    """Download everything; returns the bytes received.

    Raises ChecksumMismatch (wrong bytes), RemoteMissing, RemoteDenied, RemoteUnavailable, StorageFull.
    """
    limits = timeouts or Timeouts()
    total = sum(item.packed.size for item in downloads)
    partials.mkdir(parents=True, exist_ok=True, mode=0o700)
    require_space(partials, total + sum(item.packed.raw_size * len(item.destinations) for item in downloads))
    job = _DownloadJob(transport, partials, limits, on_progress, Progress(0, len(downloads), 0, total))
    longest = max((limits.for_object(item.packed.size) for item in downloads), default=0.0)
    ordered = sorted(
        downloads, key=lambda item: -item.packed.size
    )  # largest first: started last, it would run alone
    outcomes = pool.run(
        lambda item: _fetch(job, item),
        ordered,
        threads=threads,
        seconds=longest * 2,
        stop=job.stop,
        total_seconds=limits.for_operation(len(downloads), total) * 2,
    )
    with closing(outcomes):
        for task in outcomes:
            task.check()
    return job.received


def require_space(directory: Path, needed_bytes: int) -> None:
    """Refuse before the first byte, by the signed sizes, what would fill the disk. Raises StorageFull."""
    free_bytes = shutil.disk_usage(directory).free
    if needed_bytes + _SPARE_BYTES > free_bytes:
        raise StorageFull(
            f"the snapshot needs {needed_bytes} bytes, but {free_bytes} are free at {directory}",
            hint="gitindex gc --stores",
        )


class _PartialFile:
    """The first bytes of an object in a file, with their hash."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path.open("a+b", buffering=0)
        self.size = 0
        self._digest = hashlib.sha256()
        self._hash_existing()

    def append(self, data: bytes) -> None:
        unwritten = memoryview(data)
        while unwritten:
            unwritten = unwritten[self.file.write(unwritten) :]
        self._digest.update(data)
        self.size += len(data)

    def truncate(self, size: int) -> None:
        """Keep only the first `size` bytes."""
        if size != self.size:
            self.file.truncate(size)
            self.size, self._digest = 0, hashlib.sha256()
            self._hash_existing()

    def check(self, expected: PackedArtifact) -> None:
        """Compare size and hash before anything interprets the bytes. Raises ChecksumMismatch."""
        if (self.size, self._digest.hexdigest()) != (expected.size, expected.sha256):
            raise stored_objects.mismatch_error(expected.sha256, "does not hold the bytes its name says")

    def _hash_existing(self) -> None:
        """Hash what an earlier run left."""
        self.file.seek(0)
        while block := self.file.read(_BLOCK):
            self._digest.update(block)
            self.size += len(block)


def _fetch(job: _DownloadJob, item: PendingDownload) -> None:
    deadline = time.monotonic() + job.timeouts.for_object(item.packed.size)
    partial = _PartialFile(job.partials / item.packed.sha256)
    with closing(partial.file):
        resumed_bytes = partial.size
        job.report_progress(resumed_bytes)
        _receive_with_retries(job, item, partial, deadline)
        try:
            _unpack_verified(partial, item)
        except ChecksumMismatch:
            if not resumed_bytes:
                raise
            # The bytes of the earlier run may be the wrong ones: download the whole object once more.
            partial.truncate(0)
            _receive_with_retries(job, item, partial, deadline)
            _unpack_verified(partial, item)
        finally:
            if (
                partial.size == item.packed.size
            ):  # nothing is left to resume, whether the bytes are right or wrong
                partial.path.unlink(missing_ok=True)
    job.report_progress(0, 1)


def _receive_with_retries(
    job: _DownloadJob, item: PendingDownload, partial: _PartialFile, deadline: float
) -> None:
    """Bring the partial file to its signed size, resuming after each broken connection."""
    for attempt in range(1, job.timeouts.attempts + 1):
        try:
            _receive(job, item, partial, deadline)
        except RemoteUnavailable:
            pause = job.timeouts.back_off * 2 ** (attempt - 1)
            is_last = attempt == job.timeouts.attempts or time.monotonic() + pause > deadline
            if is_last or job.stop.wait(pause):
                raise
        else:
            return


def _receive(job: _DownloadJob, item: PendingDownload, partial: _PartialFile, deadline: float) -> None:
    if partial.size > item.packed.size:
        partial.truncate(0)
    if partial.size == item.packed.size:
        return
    with job.transport.open(item.key, offset=partial.size) as stream:
        _check_extent(stream, item.packed)
        if stream.offset > partial.size:
            raise stored_objects.mismatch_error(item.packed.sha256, "starts beyond what was asked for")
        partial.truncate(stream.offset)  # a server that ignores ranges starts over
        received = _append(job, item, stream, partial, deadline)
    if partial.size < item.packed.size:
        if not received:
            partial.truncate(
                0
            )  # the server has nothing beyond this offset: our bytes may be of another object
        raise RemoteUnavailable(f"{item.key} ended early", hint="try again")


def _check_extent(stream: RemoteStream, expected: PackedArtifact) -> None:
    if stream.total is not None and stream.total != expected.size:
        raise stored_objects.mismatch_error(
            expected.sha256, f"has {stream.total} bytes instead of {expected.size}"
        )
    if stream.offset > expected.size:
        raise stored_objects.mismatch_error(expected.sha256, "starts beyond its own end")


def _append(
    job: _DownloadJob, item: PendingDownload, stream: RemoteStream, partial: _PartialFile, deadline: float
) -> int:
    received = 0
    for chunk in stream.chunks:
        if partial.size + len(chunk) > item.packed.size:
            raise stored_objects.mismatch_error(
                item.packed.sha256, f"is longer than {item.packed.size} bytes"
            )
        if job.stop.is_set():
            raise RemoteUnavailable("stopped")
        if time.monotonic() > deadline:
            raise RemoteTooSlow(f"{item.key} is too slow; what arrived is kept", hint="try again")
        partial.append(chunk)
        received += len(chunk)
        job.count_received(len(chunk))
    return received


def _unpack_verified(partial: _PartialFile, item: PendingDownload) -> None:
    """Check the hash, unpack beside the first destination, rename; copy the result to the other destinations."""
    partial.check(item.packed)
    first, *others = item.destinations
    first.parent.mkdir(parents=True, exist_ok=True)
    temporary = first.with_name(f".{first.name}.{item.packed.sha256[:12]}")
    partial.file.seek(0)
    try:
        with temporary.open("wb") as target:
            stored_objects.inflate(cast(BinaryIO, partial.file), item.packed, target)
            target.flush()
            os.fsync(target.fileno())
        temporary.replace(first)
    finally:
        temporary.unlink(missing_ok=True)
    for other in others:
        other.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(first, other)
