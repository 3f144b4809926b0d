"""Which of these commits has a published manifest? Found from local history, without any pointer (RE-3).

Candidates come nearest first. Which commits are published at all is a question of its own (`published`), for when local
history does not lead to one. One failing probe is skipped, not fatal: the next ancestor serves as well.
Misses and refusals are facts of this moment and are never kept. Probes and listing share one allowance of time (EN-8);
what the caller does between two candidates does not count.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic

from gitindex.errors import (
    ChecksumMismatch,
    RemoteDenied,
    RemoteError,
    RemoteMisbehaves,
    RemoteMissing,
    RemoteTooSlow,
    RemoteUnavailable,
)
from gitindex.remote import pool
from gitindex.remote.remote_layout import Names
from gitindex.remote.transport import Entry, Patience, Transport, get
from gitindex.trust.envelope import MAX_ENVELOPE_BYTES

BATCH = 32
THREADS = 16
_BATCHES_BEFORE_LIST = 2
_MAX_LISTED = 100_000


@dataclass(frozen=True, slots=True)
class Found:
    """An unverified manifest: bytes that somebody put under this commit's key."""

    commit: str
    position: int  # in the list asked about: the distance along history
    envelope: bytes


@dataclass(slots=True)
class Search:
    """A lazy search with a tally of what went wrong on the way."""

    transport: Transport
    names: Names
    config_fingerprint: str
    threads: int = THREADS
    batch: int = BATCH
    patience: Patience = field(default_factory=Patience)
    absent: int = 0
    denied: int = 0
    failures: list[Exception] = field(default_factory=list)
    spent: float = 0.0  # seconds of `patience.search_seconds`

    def published(self) -> list[str]:
        """Every commit with a manifest, the one written last first; none where listing is refused or too long.

        Raises as `candidates` does.
        """
        with self._timed():
            entries = self._entries() or []
        newest = sorted(entries, key=lambda entry: entry.modified, reverse=True)
        return [commit for entry in newest if (commit := self.names.manifest_commit(entry.key))]

    def candidates(self, commits: Sequence[str]) -> Iterator[Found]:
        """Yield manifests nearest first; ask for the next one when a manifest does not verify.

        Raises RemoteUnavailable when a whole batch fails, RemoteDenied when every probe was refused, RemoteTooSlow when
        the time for searching is used up, RemoteMisbehaves when the listing leads nowhere.
        """
        seen = False
        for found in self._probed(commits):
            seen = True
            yield found
        if not seen and self.denied and not self.absent:
            raise self._refused()
        if not seen and self.failures and not self.absent:
            raise self.failures[0]

    def _probed(self, commits: Sequence[str]) -> Iterator[Found]:
        left = list(enumerate(commits))
        empty = 0
        while left:
            with self._timed():
                if empty == _BATCHES_BEFORE_LIST and (listed := self._listed()) is not None:
                    left = [(position, commit) for position, commit in left if commit in listed]
                now, left = left[: self.batch], left[self.batch :]
                found = self._ask(now)
            yield from found
            empty = 0 if found else empty + 1

    @contextmanager
    def _timed(self) -> Iterator[None]:
        before = monotonic()
        yield
        self.spent += monotonic() - before

    @property
    def _left(self) -> float:
        return max(0.0, self.patience.search_seconds - self.spent)

    def _ask(self, batch: Sequence[tuple[int, str]]) -> list[Found]:
        found: list[Found] = []
        failed: list[Exception] = []
        seconds = self.patience.seconds(MAX_ENVELOPE_BYTES)
        outcomes = pool.run(
            self._get,
            batch,
            threads=self.threads,
            seconds=seconds,
            stop=threading.Event(),
            within=self._left,
        )
        with closing(outcomes):
            for done in outcomes:
                try:
                    found.append(Found(done.item[1], done.item[0], done.result))
                except RemoteMissing:
                    self.absent += 1
                except RemoteDenied:
                    self.denied += 1
                except (RemoteError, ChecksumMismatch) as error:
                    failed.append(error)
        self.failures += failed
        if batch and len(failed) == len(batch) and isinstance(failed[0], RemoteUnavailable):
            raise failed[0]
        return sorted(found, key=lambda one: one.position)

    def _get(self, item: tuple[int, str]) -> bytes:
        key = self.names.manifest(self.config_fingerprint, item[1])
        return get(self.transport, key, max_bytes=MAX_ENVELOPE_BYTES, seconds=self.patience.object_seconds)

    def _listed(self) -> set[str] | None:
        """All published commits, once probing got nowhere; None when listing is not possible or too long."""
        entries = self._entries()
        if entries is None:
            return None
        return {commit for entry in entries if (commit := self.names.manifest_commit(entry.key))}

    def _entries(self) -> list[Entry] | None:
        prefix = self.names.manifests_of(self.config_fingerprint)
        try:
            entries = pool.call(
                lambda: list(islice(self.transport.list(prefix), _MAX_LISTED + 1)),
                self._left,
            )
        except (RemoteMisbehaves, RemoteTooSlow):
            raise
        except RemoteError:
            return None
        return entries if len(entries) <= _MAX_LISTED else None

    def _refused(self) -> RemoteDenied:
        return RemoteDenied(
            f"{self.transport.url}: all {self.denied} probes were refused. "
            "Without s3:ListBucket a server answers 403 for objects that do not exist",
            hint="allow s3:GetObject on the prefix and s3:ListBucket on the bucket",
            action="s3:ListBucket",
        )
