"""Many objects at once, each only if it is not there (RE-2).

The remote is asked every time: a local note of "already uploaded" would outlive the object. An object of
another size than its name promises is damaged and is replaced; so is one that a collection has condemned,
which makes it young again (see `gc`). A lost answer is settled by asking, never by assuming.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum

from gitindex.errors import OutcomeUnknown, RemoteDenied
from gitindex.remote import pool
from gitindex.remote.transport import Content, Entry, OnProgress, Progress, PutOutcome, Timeouts, Transport

THREADS = 16


@dataclass(frozen=True, slots=True)
class PendingUpload:
    key: str
    size: int
    content: Content


class UploadOutcome(StrEnum):
    CREATED = "created"
    REUSED = "reused"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class UploadReport:
    objects: dict[UploadOutcome, int]
    bytes: dict[UploadOutcome, int]

    @property
    def sent_bytes(self) -> int:
        return self.bytes[UploadOutcome.CREATED] + self.bytes[UploadOutcome.REPLACED]


def upload(
    transport: Transport,
    uploads: Sequence[PendingUpload],
    *,
    condemned: frozenset[str] = frozenset(),
    on_progress: OnProgress = lambda _: None,
    threads: int = THREADS,
    timeouts: Timeouts | None = None,
) -> UploadReport:
    """Make every object present. Raises RemoteDenied, RemoteUnavailable, OutcomeUnknown."""
    limits = timeouts or Timeouts()
    distinct = list({item.key: item for item in uploads}.values())
    progress = Progress(0, len(distinct), 0, sum(one.size for one in distinct))
    objects, sizes = dict.fromkeys(UploadOutcome, 0), dict.fromkeys(UploadOutcome, 0)
    longest = max((limits.for_object(one.size) for one in distinct), default=0.0) * limits.attempts
    outcomes = pool.run(
        lambda one: _send(transport, one, one.key in condemned, limits.attempts),
        distinct,
        threads=threads,
        seconds=longest,
        stop=threading.Event(),
        total_seconds=limits.for_operation(len(distinct), progress.total_bytes) * limits.attempts,
    )
    with closing(outcomes):
        for task in outcomes:
            objects[task.result] += 1
            sizes[task.result] += task.item.size
            progress = progress._replace(objects=progress.objects + 1, bytes=progress.bytes + task.item.size)
            on_progress(progress)
    return UploadReport(objects, sizes)


def find_existing(transport: Transport, keys: Sequence[str], *, threads: int = THREADS) -> dict[str, int]:
    """Which keys exist, with their sizes; a refused question counts as absent."""
    sizes: dict[str, int] = {}
    timeouts = Timeouts()
    outcomes = pool.run(
        lambda key: _head_if_allowed(transport, key),
        keys,
        threads=threads,
        seconds=timeouts.for_object(0),
        stop=threading.Event(),
        total_seconds=timeouts.for_operation(len(keys), 0),
    )
    with closing(outcomes):
        for task in outcomes:
            if task.result is not None:
                sizes[task.item] = task.result.size
    return sizes


def _send(transport: Transport, item: PendingUpload, condemned: bool, attempts: int) -> UploadOutcome:
    for attempt in range(attempts):
        existing = _head_if_allowed(transport, item.key)
        if existing is not None and existing.size == item.size and not condemned:
            return UploadOutcome.REUSED if attempt == 0 else UploadOutcome.CREATED
        try:
            return _write(transport, item, replace=existing is not None)
        except OutcomeUnknown:
            if attempt + 1 == attempts:
                raise
    raise AssertionError("an upload has at least one attempt")


def _write(transport: Transport, item: PendingUpload, *, replace: bool) -> UploadOutcome:
    if replace:
        transport.put(item.key, item.content)
        return UploadOutcome.REPLACED
    created = transport.put_if_absent(item.key, item.content) is PutOutcome.CREATED
    return UploadOutcome.CREATED if created else UploadOutcome.REUSED


def _head_if_allowed(transport: Transport, key: str) -> Entry | None:
    """Without ListBucket a missing key looks refused; the write will tell a real refusal."""
    try:
        return transport.head(key)
    except RemoteDenied:
        return None
