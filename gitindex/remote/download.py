"""Many objects at once, each capped by its signed size, hashed as it arrives, then unpacked (RE-3).

A partial body stays under `<partials>/<sha256>`; the next attempt, or the next run, resumes it by range.
That directory belongs to one download at a time. Only whole, verified content reaches its destination. The
first object that fails stops everything; nothing about a failure is remembered. What is unpacked is flushed at
once, while others are still on their way; names are the installer's to make durable.
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
from gitindex.remote.stored_objects import Packed
from gitindex.remote.transport import OnProgress, Patience, Progress, Stream, Transport

THREADS = 16
_SPARE_BYTES = 64 * 1024 * 1024
_BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object and the files its content becomes."""

    key: str
    packed: Packed
    destinations: tuple[Path, ...]


@dataclass(slots=True)
class _Job:
    transport: Transport
    partials: Path
    patience: Patience
    report: OnProgress
    progress: Progress
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    received: int = 0

    def arrived(self, amount: int) -> None:
        with self.lock:
            self.received += amount
        self.advance(amount)

    def advance(self, amount: int, finished: int = 0) -> None:
        """A body that had to start over counts twice in `received`, but never beyond the total shown."""
        with self.lock:
            before = self.progress
            shown = min(before.bytes + amount, before.total_bytes)
            self.progress = before._replace(objects=before.objects + finished, bytes=shown)
            self.report(self.progress)


def download(
    transport: Transport,
    wanted: Sequence[Wanted],
    partials: Path,
    *,
    on_progress: OnProgress = lambda _: None,
    threads: int = THREADS,
    patience: Patience | None = None,
) -> int:
    """Fetch everything; returns the bytes received.

    Raises ChecksumMismatch (wrong bytes), RemoteMissing, RemoteDenied, RemoteUnavailable, StorageFull.
    """
    waits = patience or Patience()
    total = sum(one.packed.size for one in wanted)
    partials.mkdir(parents=True, exist_ok=True, mode=0o700)
    require_space(partials, total + sum(one.packed.raw_size * len(one.destinations) for one in wanted))
    job = _Job(transport, partials, waits, on_progress, Progress(0, len(wanted), 0, total))
    longest = max((waits.seconds(one.packed.size) for one in wanted), default=0.0)
    ordered = sorted(wanted, key=lambda one: -one.packed.size)  # a large one last would run alone
    outcomes = pool.run(
        lambda one: _fetch(job, one),
        ordered,
        threads=threads,
        seconds=longest * 2,
        stop=job.stop,
        within=waits.operation(len(wanted), total) * 2,
    )
    with closing(outcomes):
        for done in outcomes:
            done.check()
    return job.received


def require_space(where: Path, need: int) -> None:
    """Signed sizes say what is coming; refuse before the first byte rather than fill the disk."""
    free = shutil.disk_usage(where).free
    if need + _SPARE_BYTES > free:
        raise StorageFull(
            f"the snapshot needs {need} bytes, but {free} are free at {where}", hint="gitindex gc --stores"
        )


class _Partial:
    """The beginning of an object in a file, and the hash of exactly these bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path.open("a+b", buffering=0)
        self.size = 0
        self._digest = hashlib.sha256()
        self._catch_up()

    def append(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self.file.write(left) :]
        self._digest.update(data)
        self.size += len(data)

    def cut(self, size: int) -> None:
        """Keep only the first `size` bytes."""
        if size != self.size:
            self.file.truncate(size)
            self.size, self._digest = 0, hashlib.sha256()
            self._catch_up()

    def check(self, expected: Packed) -> None:
        """Before anything interprets the bytes. Raises ChecksumMismatch."""
        if (self.size, self._digest.hexdigest()) != (expected.size, expected.sha256):
            raise stored_objects.mismatch(expected.sha256, "does not hold the bytes its name says")

    def _catch_up(self) -> None:
        """What an earlier run left is hashed like what arrives."""
        self.file.seek(0)
        while block := self.file.read(_BLOCK):
            self._digest.update(block)
            self.size += len(block)


def _fetch(job: _Job, one: Wanted) -> None:
    until = time.monotonic() + job.patience.seconds(one.packed.size)
    partial = _Partial(job.partials / one.packed.sha256)
    with closing(partial.file):
        left_over = partial.size
        job.advance(left_over)
        _complete(job, one, partial, until)
        try:
            _deliver(partial, one)
        except ChecksumMismatch:
            if not left_over:
                raise
            # What an earlier run left may be what is wrong: the remote gets one chance to show better bytes.
            partial.cut(0)
            _complete(job, one, partial, until)
            _deliver(partial, one)
        finally:
            if (
                partial.size == one.packed.size
            ):  # whole, it can only be right or wrong: it is used up either way
                partial.path.unlink(missing_ok=True)
    job.advance(0, 1)


def _complete(job: _Job, one: Wanted, partial: _Partial, until: float) -> None:
    """Bring the partial file to its signed size, resuming after each broken connection."""
    for attempt in range(1, job.patience.attempts + 1):
        try:
            _receive(job, one, partial, until)
        except RemoteUnavailable:
            pause = job.patience.back_off * 2 ** (attempt - 1)
            if attempt == job.patience.attempts or time.monotonic() + pause > until or job.stop.wait(pause):
                raise
        else:
            return


def _receive(job: _Job, one: Wanted, partial: _Partial, until: float) -> None:
    if partial.size > one.packed.size:
        partial.cut(0)
    if partial.size == one.packed.size:
        return
    with job.transport.open(one.key, offset=partial.size) as stream:
        _check_extent(stream, one.packed)
        if stream.offset > partial.size:
            raise stored_objects.mismatch(one.packed.sha256, "starts beyond what was asked for")
        partial.cut(stream.offset)  # a server that ignores ranges starts over
        received = _append(job, one, stream, partial, until)
    if partial.size < one.packed.size:
        if not received:
            partial.cut(0)  # nothing beyond this offset: what we hold may not be a beginning of it
        raise RemoteUnavailable(f"{one.key} ended early", hint="try again")


def _check_extent(stream: Stream, expected: Packed) -> None:
    if stream.total is not None and stream.total != expected.size:
        raise stored_objects.mismatch(expected.sha256, f"has {stream.total} bytes instead of {expected.size}")
    if stream.offset > expected.size:
        raise stored_objects.mismatch(expected.sha256, "starts beyond its own end")


def _append(job: _Job, one: Wanted, stream: Stream, partial: _Partial, until: float) -> int:
    received = 0
    for chunk in stream.chunks:
        if partial.size + len(chunk) > one.packed.size:
            raise stored_objects.mismatch(one.packed.sha256, f"is longer than {one.packed.size} bytes")
        if job.stop.is_set():
            raise RemoteUnavailable("stopped")
        if time.monotonic() > until:
            raise RemoteTooSlow(f"{one.key} is too slow; what arrived is kept", hint="try again")
        partial.append(chunk)
        received += len(chunk)
        job.arrived(len(chunk))
    return received


def _deliver(partial: _Partial, one: Wanted) -> None:
    """Check the hash, unpack beside the first destination, rename; the rest are copies of verified bytes."""
    partial.check(one.packed)
    first, *others = one.destinations
    first.parent.mkdir(parents=True, exist_ok=True)
    temporary = first.with_name(f".{first.name}.{one.packed.sha256[:12]}")
    partial.file.seek(0)
    try:
        with temporary.open("wb") as target:
            stored_objects.inflate(cast(BinaryIO, partial.file), one.packed, target)
            target.flush()
            os.fsync(target.fileno())
        temporary.replace(first)
    finally:
        temporary.unlink(missing_ok=True)
    for other in others:
        other.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(first, other)
