"""Verifies artifacts against their checksums before first use (SN-7, IDX.MUST.006).

The size is always compared. The hash is computed once per process and artifact, unless the checksum cache has an entry
for this inode, size, mtime and ctime. Writing to a file changes its ctime, so an entry never covers other bytes than
those that were hashed. Only publishers write the cache; readers need no write access.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from gitindex.errors import ChecksumMismatch
from gitindex.model.file_stat import Stat
from gitindex.model.manifest import Artifact
from gitindex.store import atomic
from gitindex.store.layout import Layout

T = TypeVar("T")
R = TypeVar("R")
_READ_BYTES = 1 << 20


def hash_file(path: Path) -> tuple[str, int]:
    """sha256 and size of a file's bytes."""
    digest = hashlib.sha256()
    size = 0
    with open(path, "rb") as handle:
        while block := handle.read(_READ_BYTES):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size


def describe_artifact(layout: Layout, path: Path) -> Artifact:
    """The artifact record of a finished file."""
    digest, size = hash_file(path)
    return Artifact(path.relative_to(layout.base).as_posix(), size, digest)


def describe_artifacts(layout: Layout, paths: Iterable[Path]) -> dict[Path, Artifact]:
    """The records of many finished files."""
    all_paths = list(paths)
    return dict(zip(all_paths, _map_in_threads(partial(describe_artifact, layout), all_paths), strict=True))


def _map_in_threads(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Map in one thread per core: hashing releases the interpreter lock."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(function, items)


class Verifier:
    """Checks artifacts of one store; one instance per process and store."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._checksum_cache = _load_checksum_cache(layout)
        self._verified_stats: dict[str, Stat] = {}

    def verified_path(self, artifact: Artifact) -> Path:
        """The artifact's path, after its bytes were verified.

        Raises ChecksumMismatch, naming the artifact and the repair command.
        """
        path = self._layout.base / artifact.path
        stat = _read_stat(path)
        if stat is None:
            raise _mismatch_error(artifact, "is missing")
        if stat.size != artifact.size_bytes:
            raise _mismatch_error(artifact, f"has {stat.size} bytes instead of {artifact.size_bytes}")
        if self._verified_stats.get(artifact.path) != stat and not self._matches_cache(artifact, stat):
            self.rehash(artifact)
        self._verified_stats[artifact.path] = stat
        return path

    def verify_all(self, artifacts: Iterable[Artifact]) -> None:
        """Verify many in parallel. Raises ChecksumMismatch for the first that differs."""
        for _ in _map_in_threads(self.verified_path, artifacts):
            pass

    def mark_verified(self, artifact: Artifact) -> None:
        """Accept a file that this process linked from a verified one: same inode, same bytes."""
        stat = _read_stat(self._layout.base / artifact.path)
        if stat is not None:
            self._verified_stats[artifact.path] = stat

    def rehash(self, artifact: Artifact) -> None:
        """Hash the bytes, ignoring the checksum cache.

        Raises ChecksumMismatch.
        """
        try:
            digest, size = hash_file(self._layout.base / artifact.path)
        except FileNotFoundError:
            raise _mismatch_error(artifact, "is missing") from None
        if size != artifact.size_bytes:
            raise _mismatch_error(artifact, f"has {size} bytes instead of {artifact.size_bytes}")
        if digest != artifact.sha256:
            raise _mismatch_error(artifact, "does not match its checksum")

    def is_cached(self, artifact: Artifact) -> bool:
        """Whether the checksum cache has an entry for the file as it is now. Reads no content."""
        stat = _read_stat(self._layout.base / artifact.path)
        return stat is not None and self._matches_cache(artifact, stat)

    def _matches_cache(self, artifact: Artifact, stat: Stat) -> bool:
        return self._checksum_cache.get(artifact.path) == _cache_entry(artifact, stat)


def write_checksum_cache(layout: Layout, artifacts: Iterable[Artifact]) -> None:
    """Write the checksum cache for artifacts that this process has just written or verified. Callers hold the lease."""
    entries: dict[str, tuple[object, ...]] = {}
    for artifact in artifacts:
        stat = _read_stat(layout.base / artifact.path)
        if stat is not None:
            entries[artifact.path] = _cache_entry(artifact, stat)
    atomic.write_bytes(layout.checksum_cache, json.dumps(entries, separators=(",", ":")).encode())


def _load_checksum_cache(layout: Layout) -> Mapping[str, tuple[object, ...]]:
    """A missing or unreadable cache is empty: it only costs hashing."""
    try:
        raw = json.loads(layout.checksum_cache.read_bytes())
        return {path: tuple(entry) for path, entry in raw.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _cache_entry(artifact: Artifact, stat: Stat) -> tuple[object, ...]:
    """As the checksum cache stores it: the order is that of the file on disk."""
    return artifact.sha256, stat.inode, stat.size, stat.mtime_ns, stat.ctime_ns


def _read_stat(path: Path) -> Stat | None:
    try:
        return Stat.of(os.stat(path, follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _mismatch_error(artifact: Artifact, what: str) -> ChecksumMismatch:
    return ChecksumMismatch(
        f"{artifact.path} {what}", hint="gitindex repair", artifact=artifact.path, sha256=artifact.sha256
    )
