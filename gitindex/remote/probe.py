"""Search the remote for manifests of commits of the local history, nearest first (RE-3).

There is no pointer on the remote: each commit is probed by its key, and after a few batches without a manifest the
remote is listed. `list_published` names all published commits, for a history that leads to none. A failing probe is
skipped: the next ancestor serves as well. Misses and refusals are never cached. Probes and listings share one time
limit (EN-8); what the caller does between two manifests does not count.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import NamedTuple

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
from gitindex.remote.transport import Entry, Timeouts, Transport, get
from gitindex.trust.envelope import MAX_ENVELOPE_BYTES

BATCH = 32
THREADS = 16
_BATCHES_BEFORE_LIST = 2  # batches without any manifest
_MAX_LISTED = 100_000


class Probe(NamedTuple):
    """A commit to ask the remote about."""

    position: int  # among the commits of the search: the distance along history
    commit: str


@dataclass(frozen=True, slots=True)
class UnverifiedManifest:
    """Bytes that somebody put under the key of a commit's manifest; nobody has verified them yet."""

    commit: str
    position: int  # as of its `Probe`
    envelope: bytes


@dataclass(slots=True)
class ManifestSearch:
    """A lazy search that counts and records the probes that failed."""

    transport: Transport
    names: Names
    config_fingerprint: str
    threads: int = THREADS
    batch: int = BATCH
    timeouts: Timeouts = field(default_factory=Timeouts)
    absent_count: int = 0
    denied_count: int = 0
    failures: list[Exception] = field(default_factory=list)
    spent_seconds: float = 0.0  # of `timeouts.search_seconds`

    def list_published(self) -> list[str]:
        """Every commit with a manifest, the latest written first; empty where listing is refused or too long.

        Raises as `find_manifests` does.
        """
        with self._track_time():
            entries = self._list_entries() or []
        newest = sorted(entries, key=lambda entry: entry.modified, reverse=True)
        return [commit for entry in newest if (commit := self.names.parse_manifest_key(entry.key))]

    def find_manifests(self, commits: Sequence[str]) -> Iterator[UnverifiedManifest]:
        """Yield manifests, nearest first; the caller asks for the next one when a manifest does not verify.

        Raises RemoteUnavailable when a whole batch fails, RemoteDenied when every probe was refused, RemoteTooSlow when
        the time for searching is used up, RemoteMisbehaves when the listing leads nowhere.
        """
        any_found = False
        for manifest in self._probe(commits):
            any_found = True
            yield manifest
        if not any_found and self.denied_count and not self.absent_count:
            raise self._all_denied_error()
        if not any_found and self.failures and not self.absent_count:
            raise self.failures[0]

    def _probe(self, commits: Sequence[str]) -> Iterator[UnverifiedManifest]:
        remaining = [Probe(position, commit) for position, commit in enumerate(commits)]
        empty_batches = 0
        while remaining:
            with self._track_time():
                if empty_batches == _BATCHES_BEFORE_LIST and (published := self._list_commits()) is not None:
                    remaining = [probe for probe in remaining if probe.commit in published]
                batch, remaining = remaining[: self.batch], remaining[self.batch :]
                manifests = self._probe_batch(batch)
            yield from manifests
            empty_batches = 0 if manifests else empty_batches + 1

    @contextmanager
    def _track_time(self) -> Iterator[None]:
        started = monotonic()
        yield
        self.spent_seconds += monotonic() - started

    @property
    def _seconds_left(self) -> float:
        return max(0.0, self.timeouts.search_seconds - self.spent_seconds)

    def _probe_batch(self, batch: Sequence[Probe]) -> list[UnverifiedManifest]:
        manifests: list[UnverifiedManifest] = []
        errors: list[Exception] = []
        seconds = self.timeouts.for_object(MAX_ENVELOPE_BYTES)
        outcomes = pool.run(
            self._read_envelope,
            batch,
            threads=self.threads,
            seconds=seconds,
            stop=threading.Event(),
            total_seconds=self._seconds_left,
        )
        with closing(outcomes):
            for task in outcomes:
                try:
                    manifests.append(UnverifiedManifest(task.item.commit, task.item.position, task.result))
                except RemoteMissing:
                    self.absent_count += 1
                except RemoteDenied:
                    self.denied_count += 1
                except (RemoteError, ChecksumMismatch) as error:
                    errors.append(error)
        self.failures += errors
        if batch and len(errors) == len(batch) and isinstance(errors[0], RemoteUnavailable):
            raise errors[0]
        return sorted(manifests, key=lambda manifest: manifest.position)

    def _read_envelope(self, probe: Probe) -> bytes:
        key = self.names.manifest_key(self.config_fingerprint, probe.commit)
        return get(self.transport, key, max_bytes=MAX_ENVELOPE_BYTES, seconds=self.timeouts.object_seconds)

    def _list_commits(self) -> set[str] | None:
        """All published commits; None where listing is refused or too long."""
        entries = self._list_entries()
        if entries is None:
            return None
        return {commit for entry in entries if (commit := self.names.parse_manifest_key(entry.key))}

    def _list_entries(self) -> list[Entry] | None:
        prefix = self.names.config_manifests_prefix(self.config_fingerprint)
        try:
            entries = pool.call(
                lambda: list(islice(self.transport.list(prefix), _MAX_LISTED + 1)),
                self._seconds_left,
            )
        except (RemoteMisbehaves, RemoteTooSlow):
            raise
        except RemoteError:
            return None
        return entries if len(entries) <= _MAX_LISTED else None

    def _all_denied_error(self) -> RemoteDenied:
        return RemoteDenied(
            f"{self.transport.url}: all {self.denied_count} probes were refused. "
            "Without s3:ListBucket a server answers 403 for objects that do not exist",
            hint="allow s3:GetObject on the prefix and s3:ListBucket on the bucket",
            action="s3:ListBucket",
        )
