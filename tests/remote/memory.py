"""A remote in this process: the plainest statement of the protocol."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gitindex.errors import RemoteMissing
from gitindex.remote.transport import Content, Entry, PutOutcome, RemoteStream, validate_key

_CHUNK = 64 * 1024


class MemoryTransport:
    url = "memory:"

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.objects: dict[str, tuple[bytes, float]] = {}

    @contextmanager
    def open(self, key: str, *, offset: int = 0) -> Iterator[RemoteStream]:
        found = self.objects.get(validate_key(key))
        if found is None:
            raise RemoteMissing(f"no object {key}")
        data = found[0]
        parts = (data[at : at + _CHUNK] for at in range(offset, len(data), _CHUNK))
        yield RemoteStream(offset, len(data), parts)

    def head(self, key: str) -> Entry | None:
        found = self.objects.get(validate_key(key))
        return Entry(key, len(found[0]), found[1]) if found else None

    def put_if_absent(self, key: str, content: Content) -> PutOutcome:
        data = _bytes(content)
        with self._lock:
            if validate_key(key) in self.objects:
                return PutOutcome.EXISTS
            self.objects[key] = (data, self._clock())
        return PutOutcome.CREATED

    def put(self, key: str, content: Content) -> None:
        data = _bytes(content)
        with self._lock:
            self.objects[validate_key(key)] = (data, self._clock())

    def list(self, prefix: str) -> Iterator[Entry]:
        with self._lock:
            kept = sorted((key, value) for key, value in self.objects.items() if key.startswith(prefix))
        for key, (data, modified) in kept:
            yield Entry(key, len(data), modified)

    def delete(self, key: str) -> None:
        with self._lock:
            self.objects.pop(validate_key(key), None)


def _bytes(content: Content) -> bytes:
    return content.read_bytes() if isinstance(content, Path) else content
