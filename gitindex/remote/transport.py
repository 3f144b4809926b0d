"""The protocol of all remotes: a flat map from keys to immutable bytes.

Rules for every transport: an object appears whole or not at all; a missing key is RemoteMissing (or None), a refusal
RemoteDenied, a failure RemoteUnavailable, a write whose answer was lost OutcomeUnknown. Nothing is cached. No transport
checks content: the caller knows the hash that the bytes must have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import NamedTuple, Protocol

from gitindex.errors import ChecksumMismatch, RemoteTooSlow, RemoteUnavailable, UsageError
from gitindex.remote import pool

Content = bytes | Path
_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")


class Entry(NamedTuple):
    """One stored object; `modified` is the remote's clock, in seconds since the epoch."""

    key: str
    size: int
    modified: float


class PutOutcome(StrEnum):
    CREATED = "created"
    EXISTS = "exists"


class RemoteStream(NamedTuple):
    """A body being received."""

    offset: int  # of its first byte in the object: 0 where the server ignored a range
    total: int | None  # size of the whole object, where the server says so
    chunks: Iterator[bytes]  # each read returns what has arrived, so that the caller can check its deadline


class Progress(NamedTuple):
    objects: int
    total_objects: int
    bytes: int
    total_bytes: int


OnProgress = Callable[[Progress], None]  # called from worker threads, one at a time


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long and how often to try; tests pass shorter ones."""

    attempts: int = 4
    back_off: float = 0.2  # seconds before the second attempt, doubling
    object_seconds: float = 60.0  # for one object, besides the time for its size
    bytes_per_second: int = 64 * 1024  # a slower download fails
    each_seconds: float = 0.5  # for each of many objects, besides the time for its size
    search_seconds: float = 120.0  # for the search for a published ancestor: all probes and the listing

    def for_object(self, size: int) -> float:
        """The deadline of one object."""
        return self.object_seconds + size / self.bytes_per_second

    def for_operation(self, objects: int, size: int) -> float:
        """The deadline of many objects of `size` bytes together."""
        return self.for_object(size) + objects * self.each_seconds


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """Settings of a connection. Credentials come from `variables` (the environment), or boto3 finds them itself."""

    endpoint: str = ""
    region: str = ""
    connect_timeout: float = 5.0
    read_timeout: float = 20.0
    attempts: int = 4
    call_seconds: float = (
        60.0  # for one request with all its attempts, besides the time for the size of an upload
    )
    list_seconds: float = 120.0  # for a whole listing
    connections: int = 32
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)


class Transport(Protocol):
    url: str

    def open(self, key: str, *, offset: int = 0) -> AbstractContextManager[RemoteStream]:
        """Receive an object from `offset`; beyond its end the stream is empty. Raises RemoteMissing."""

    def head(self, key: str) -> Entry | None:
        """Size and time of an object, None when there is none."""

    def put_if_absent(self, key: str, content: Content) -> PutOutcome:
        """Create an object. EXISTS leaves the old bytes; a server without conditions may replace them."""

    def put(self, key: str, content: Content) -> None:
        """Create or replace an object."""

    def list(self, prefix: str) -> Iterator[Entry]:
        """Every object whose key starts with `prefix`, in order of key."""

    def delete(self, key: str) -> None:
        """Remove an object; a missing one is fine."""


def validate_key(key: str) -> str:
    """Require safe names: no dot files, no `..`, nothing special to a shell or file system. Raises UsageError."""
    if len(key) > 512 or _KEY.fullmatch(key) is None:
        raise UsageError(f"not a safe object key: {key!r}")
    return key


def get(transport: Transport, key: str, *, max_bytes: int, seconds: float = 60.0) -> bytes:
    """A whole small object.

    Raises ChecksumMismatch beyond `max_bytes`, RemoteTooSlow after `seconds`. The deadline holds for headers, too: a
    server that drips them would never get to the body, where the loop checks it.
    """
    deadline = monotonic() + seconds
    return pool.call(lambda: _receive(transport, key, max_bytes, deadline), seconds)


def _receive(transport: Transport, key: str, max_bytes: int, deadline: float) -> bytes:
    with transport.open(key) as stream:
        if stream.total is not None and stream.total > max_bytes:
            raise _too_large_error(key, max_bytes)
        body = bytearray()
        for chunk in stream.chunks:
            body += chunk
            if len(body) > max_bytes:
                raise _too_large_error(key, max_bytes)
            if monotonic() > deadline:
                raise RemoteTooSlow(f"{key} took too long", hint="try again")
    if stream.total is not None and len(body) != stream.total:
        raise RemoteUnavailable(f"{key} ended after {len(body)} of {stream.total} bytes", hint="try again")
    return bytes(body)


def _too_large_error(key: str, limit: int) -> ChecksumMismatch:
    return ChecksumMismatch(f"{key} is larger than the {limit} bytes it may have", hint="gitindex verify")
