"""Upload many objects at once, each only if it is not on the remote (RE-2).

The remote is asked every time: a local record of uploads would outlive the objects. An object of the wrong size is
damaged and is replaced; so is one that a collection has condemned, which makes it young again (`collection_plan`).
After a lost answer the remote is asked whether the object is there.
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
    """Upload what is missing, damaged or condemned. Raises RemoteDenied, RemoteUnavailable, OutcomeUnknown."""
    limits = timeouts or Timeouts()
    distinct = list({item.key: item for item in uploads}.values())
    progress = Progress(0, len(distinct), 0, sum(item.size for item in distinct))
    objects, sizes = dict.fromkeys(UploadOutcome, 0), dict.fromkeys(UploadOutcome, 0)
    longest = max((limits.for_object(item.size) for item in distinct), default=0.0) * limits.attempts
    outcomes = pool.run(
        lambda item: _send(transport, item, item.key in condemned, limits.attempts),
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
    """The sizes of the keys that exist; a refused request counts as missing."""
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
    """None where the request is refused: without s3:ListBucket a missing key is; a real refusal shows at the write."""
    try:
        return transport.head(key)
    except RemoteDenied:
        return None
