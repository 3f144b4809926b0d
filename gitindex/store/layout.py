"""The paths of everything in a store (ST-2). Pure."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from gitindex.model.frozen import frozen

_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9]+")


def store_id(root: Path, fingerprint: str) -> str:
    """`<slug>__<root hash>__<fingerprint>`: one store per worktree and index fingerprint (ST-1)."""
    slug = _UNSAFE_CHARACTERS.sub("-", root.name).strip("-").lower()[:40] or "root"
    return f"{slug}__{root_hash(root)}__{fingerprint[:16]}"


def root_hash(root: Path) -> str:
    return hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def data_dir(home: Path) -> Path:
    return home / "data"


def builds_dir(home: Path) -> Path:
    """Holds the stores of `gitindex build`: a second home inside the home."""
    return home / "builds"


def pin_file(home: Path) -> Path:
    """The pins: which keys and remote the user trusts, per repository."""
    return home / "trust.json"


@frozen
class Layout:
    """Paths of one store."""

    base: Path

    @property
    def id(self) -> str:
        return self.base.name

    @property
    def active_pointer(self) -> Path:
        return self.base / "ACTIVE_SNAPSHOT"

    @property
    def state(self) -> Path:
        return self.base / "index_state.json"

    @property
    def control(self) -> Path:
        return self.base / "control.sqlite"

    @property
    def checksum_cache(self) -> Path:
        return self.base / "verified.json"

    @property
    def last_used(self) -> Path:
        """Its mtime is the time of last use. Outside the store, because reading must not change a store (EN-5)."""
        return self.base.parent.parent / "used" / self.id

    @property
    def snapshots(self) -> Path:
        return self.base / "snapshots"

    def snapshot(self, snapshot_id: str) -> Path:
        return self.snapshots / snapshot_id

    def manifest(self, snapshot_id: str) -> Path:
        return self.snapshot(snapshot_id) / "manifest.json"

    def replaced_record(self, snapshot_id: str) -> Path:
        """Records when the snapshot stopped being the active one."""
        return self.snapshot(snapshot_id) / "replaced.json"

    @property
    def tables(self) -> Path:
        """A LanceDB database directory: one table per segment."""
        return self.base / "tables"

    def table(self, segment_id: str) -> Path:
        return self.tables / f"{segment_id}.lance"

    @property
    def segments(self) -> Path:
        return self.base / "segments"

    def segment(self, segment_id: str) -> Path:
        return self.segments / segment_id

    def facts(self, segment_id: str) -> Path:
        return self.segment(segment_id) / "facts.sqlite"

    def file_index(self, segment_id: str) -> Path:
        """path → blob id of every path in the segment; `repair` reads it where the facts are damaged."""
        return self.segment(segment_id) / "segment_file_index.jsonl"

    def tombstones(self, segment_id: str) -> Path:
        return self.segment(segment_id) / "tombstones.jsonl"

    def scip(self, segment_id: str) -> Path:
        return self.segment(segment_id) / "scip.sqlite"

    @property
    def lexicals(self) -> Path:
        return self.base / "lexical"

    def lexical(self, snapshot_id: str) -> Path:
        return self.lexicals / snapshot_id

    @property
    def staging(self) -> Path:
        return self.base / "staging"

    def transaction(self, txn: str) -> Path:
        return self.staging / txn

    @property
    def locks(self) -> Path:
        return self.base / "locks"

    @property
    def lease(self) -> Path:
        return self.locks / "writer_lease.json"

    @property
    def lease_guard(self) -> Path:
        return self.locks / "lease_guard.lock"

    @property
    def guard_breaker(self) -> Path:
        return self.locks / "lease_guard.breaker"

    @property
    def readers_lock(self) -> Path:
        return self.locks / "readers.lock"

    @property
    def log(self) -> Path:
        return self.base / "logs" / "sync.log.jsonl"

    @property
    def embeddings(self) -> Path:
        return self.base / "cache" / "embeddings"

    @property
    def folders(self) -> tuple[Path, ...]:
        """The directories that every store has."""
        return (
            self.snapshots,
            self.tables,
            self.segments,
            self.lexicals,
            self.staging,
            self.locks,
            self.log.parent,
            self.embeddings,
        )
