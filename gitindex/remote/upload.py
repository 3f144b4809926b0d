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
from gitindex.remote.transport import Content, Entry, OnProgress, Patience, Progress, Put, Transport

THREADS = 16


@dataclass(frozen=True, slots=True)
class Outgoing:
    key: str
    size: int
    content: Content


class Sent(StrEnum):
    CREATED = "created"
    REUSED = "reused"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Uploaded:
    objects: dict[Sent, int]
    bytes: dict[Sent, int]

    @property
    def sent_bytes(self) -> int:
        return self.bytes[Sent.CREATED] + self.bytes[Sent.REPLACED]


def upload(
    transport: Transport,
    outgoing: Sequence[Outgoing],
    *,
    condemned: frozenset[str] = frozenset(),
    on_progress: OnProgress = lambda _: None,
    threads: int = THREADS,
    patience: Patience | None = None,
) -> Uploaded:
    """Make every object present. Raises RemoteDenied, RemoteUnavailable, OutcomeUnknown."""
    waits = patience or Patience()
    distinct = list({one.key: one for one in outgoing}.values())
    progress = Progress(0, len(distinct), 0, sum(one.size for one in distinct))
    objects, sizes = dict.fromkeys(Sent, 0), dict.fromkeys(Sent, 0)
    longest = max((waits.seconds(one.size) for one in distinct), default=0.0) * waits.attempts
    outcomes = pool.run(
        lambda one: _send(transport, one, one.key in condemned, waits.attempts),
        distinct,
        threads=threads,
        seconds=longest,
        stop=threading.Event(),
        within=waits.operation(len(distinct), progress.total_bytes) * waits.attempts,
    )
    with closing(outcomes):
        for done in outcomes:
            objects[done.result] += 1
            sizes[done.result] += done.item.size
            progress = progress._replace(objects=progress.objects + 1, bytes=progress.bytes + done.item.size)
            on_progress(progress)
    return Uploaded(objects, sizes)


def present(transport: Transport, keys: Sequence[str], *, threads: int = THREADS) -> dict[str, int]:
    """Which keys exist, with their sizes; a refused question counts as absent."""
    found: dict[str, int] = {}
    waits = Patience()
    outcomes = pool.run(
        lambda key: _look(transport, key),
        keys,
        threads=threads,
        seconds=waits.seconds(0),
        stop=threading.Event(),
        within=waits.operation(len(keys), 0),
    )
    with closing(outcomes):
        for done in outcomes:
            if done.result is not None:
                found[done.item] = done.result.size
    return found


def _send(transport: Transport, one: Outgoing, condemned: bool, attempts: int) -> Sent:
    for attempt in range(attempts):
        there = _look(transport, one.key)
        if there is not None and there.size == one.size and not condemned:
            return Sent.REUSED if attempt == 0 else Sent.CREATED
        try:
            return _write(transport, one, replace=there is not None)
        except OutcomeUnknown:
            if attempt + 1 == attempts:
                raise
    raise AssertionError("an upload has at least one attempt")


def _write(transport: Transport, one: Outgoing, *, replace: bool) -> Sent:
    if replace:
        transport.put(one.key, one.content)
        return Sent.REPLACED
    created = transport.put_if_absent(one.key, one.content) is Put.CREATED
    return Sent.CREATED if created else Sent.REUSED


def _look(transport: Transport, key: str) -> Entry | None:
    """Without ListBucket a missing key looks refused; the write will tell a real refusal."""
    try:
        return transport.head(key)
    except RemoteDenied:
        return None
