"""The manifest: one JSON document that fully defines a snapshot (SN-1, SN-2). Values only, no IO.

Segments are listed oldest first. A segment's tombstones hide the named paths in every earlier segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from gitindex.errors import StoreCorrupt
from gitindex.model import versions
from gitindex.model.frozen import field, frozen
from gitindex.model.ids import sha256_hex

PORTABLE_ROOT = "."  # root that published snapshots record; each installation has its own


@frozen
class Artifact:
    """A file of the store: path relative to the store, size, hash of its bytes."""

    path: str
    size_bytes: int
    sha256: str


@frozen
class Tombstones:
    """Paths hidden in all segments before the one that carries this."""

    artifact: Artifact
    count: int


@frozen
class Segment:
    """One LanceDB table plus its facts; immutable once published."""

    id: str  # also the table's name: seg_<snapshot>_<seq>
    kind: str  # base | delta | semantic
    snapshot_id: str  # the publish that wrote it
    rows: int
    files: int
    artifacts: tuple[Artifact, ...]  # table files, facts, path map
    tombstones: Tombstones | None = None


@frozen
class GitFailure:
    """Why git could not tell what to index, and what to run about it."""

    code: str  # git_not_installed | git_damaged
    kind: str  # of damage: object | index | head | config | format | repository; "" without a git program
    message: str
    next: str


@frozen
class GitState:
    head_sha: str | None = None
    tree_sha: str | None = None
    branch: str | None = None
    dirty: bool = False
    untracked_included: bool = False
    failure: GitFailure | None = None  # the files were scanned, because git failed so (C-1)

    def to_json(self) -> dict[str, Any]:
        """Without `failure` where git did not fail: older releases know no such field."""
        return {name: value for name, value in asdict(self).items() if name != "failure" or value}


@frozen
class FileError:
    code: str
    message: str
    path_key: str


@frozen
class Origin:
    """Where the bytes came from: the trust truth of every answer (QU-6)."""

    kind: str = "local"  # local | fetched | seeded | left behind (a build upon no ancestor, with its content)
    base_commit: str | None = None
    signer: str | None = None
    remote: str | None = None
    toc: str | None = None  # hash of the signed table of contents it was fetched by
    amended: bool = False  # something was built here on top of it, which the signer did not sign

    def amend(self) -> Origin:
        return replace(self, amended=True) if self.kind == "fetched" else self


@frozen
class Counts:
    files_indexed: int = 0
    chunks_indexed: int = 0
    symbols: int = 0
    edges: int = 0
    entities: int = 0
    text_bytes: int = 0
    tombstones_added: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    text_only: Mapping[str, int] = field(default_factory=dict)  # indexed without syntax, by limit (EL-8)


@frozen
class Manifest:
    snapshot_id: str
    parent_snapshot_id: str | None
    created_at: str
    canonical_root: str
    store_id: str
    config_fingerprint: str
    ignore_fingerprint: str
    lease_epoch: int
    git: GitState
    segments: tuple[Segment, ...]
    lexical: tuple[Artifact, ...]
    overlay: Artifact
    counts: Counts
    embedder: str  # identity of the embedder, "none" without vectors
    dimension: int
    timings_ms: Mapping[str, int] = field(default_factory=dict)
    origin: Origin = field(default_factory=Origin)
    degraded: bool = False
    errors: tuple[FileError, ...] = ()
    semantic: tuple[Mapping[str, Any], ...] = ()

    @property
    def tombstone_count(self) -> int:
        return sum(segment.tombstones.count for segment in self.segments if segment.tombstones)

    def resolve_root(self, marker_root: str) -> str:
        """The root a completion marker means: that of a published snapshot names none, its manifest does (ADR 13)."""
        return (
            self.canonical_root
            if marker_root == PORTABLE_ROOT and self.origin.kind == "fetched"
            else marker_root
        )

    def artifacts(self) -> Iterator[Artifact]:
        """Every file this snapshot needs besides the manifest itself."""
        for segment in self.segments:
            yield from segment.artifacts
            if segment.tombstones:
                yield segment.tombstones.artifact
        yield from self.lexical
        yield self.overlay

    def to_json(self) -> dict[str, Any]:
        return {
            "schema_version": versions.MATRIX["manifest"].current,
            "chunk_row_schema_version": versions.MATRIX["chunk_rows"].current,
            **{
                name: getattr(self, name)
                for name in (
                    "snapshot_id",
                    "parent_snapshot_id",
                    "created_at",
                    "canonical_root",
                    "store_id",
                    "config_fingerprint",
                    "ignore_fingerprint",
                    "lease_epoch",
                )
            },
            "git": self.git.to_json(),
            "segments": [_segment_json(segment) for segment in self.segments],
            "tombstones": [_tombstones_json(segment) for segment in self.segments if segment.tombstones],
            "lexical": {"ref_type": "tantivy", "artifacts": [asdict(item) for item in self.lexical]},
            "overlay": asdict(self.overlay),
            "counts": {
                **asdict(self.counts),
                "skipped": dict(self.counts.skipped),
                "languages": dict(self.counts.languages),
                "text_only": dict(self.counts.text_only),
            },
            "embedding": {"identity": self.embedder, "dimension": self.dimension},
            "timings_ms": dict(self.timings_ms),
            "origin": asdict(self.origin),
            "degraded": self.degraded,
            "errors": [asdict(error) for error in self.errors],
            "semantic": [dict(item) for item in self.semantic],
        }


def from_json(data: Any, where: str) -> Manifest:
    """Raises IncompatibleVersion outside the readable range, StoreCorrupt for any other shape."""
    if not isinstance(data, dict):
        raise StoreCorrupt(f"manifest {where} is not an object", hint="gitindex repair")
    versions.check("manifest", data.get("schema_version"), where)
    versions.check("chunk_rows", data.get("chunk_row_schema_version"), where)
    try:
        return _parse_manifest(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreCorrupt(f"manifest {where} is malformed: {error!r}", hint="gitindex repair") from error


def _parse_manifest(data: dict[str, Any]) -> Manifest:
    tombstones = {item["segment_id"]: item for item in data["tombstones"]}
    return Manifest(
        snapshot_id=_require_text(data["snapshot_id"]),
        parent_snapshot_id=data["parent_snapshot_id"],
        created_at=_require_text(data["created_at"]),
        canonical_root=_require_text(data["canonical_root"]),
        store_id=_require_text(data["store_id"]),
        config_fingerprint=_require_text(data["config_fingerprint"]),
        ignore_fingerprint=_require_text(data["ignore_fingerprint"]),
        lease_epoch=int(data["lease_epoch"]),
        git=_parse_git_state(data["git"]),
        segments=tuple(_parse_segment(item, tombstones.get(item["id"])) for item in data["segments"]),
        lexical=tuple(_parse_artifact(item) for item in data["lexical"]["artifacts"]),
        overlay=_parse_artifact(data["overlay"]),
        counts=Counts(**data["counts"]),
        embedder=_require_text(data["embedding"]["identity"]),
        dimension=int(data["embedding"]["dimension"]),
        timings_ms=dict(data["timings_ms"]),
        origin=Origin(**data["origin"]),
        degraded=bool(data["degraded"]),
        errors=tuple(FileError(**item) for item in data["errors"]),
        semantic=tuple(data["semantic"]),
    )


def _parse_git_state(data: Mapping[str, Any]) -> GitState:
    failure = data.get("failure")
    return GitState(**{**data, "failure": GitFailure(**failure) if failure else None})


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {value!r}")
    return value


def _parse_artifact(item: Mapping[str, Any]) -> Artifact:
    return Artifact(_require_text(item["path"]), int(item["size_bytes"]), _require_text(item["sha256"]))


def _parse_segment(item: Mapping[str, Any], tombstone: Mapping[str, Any] | None) -> Segment:
    return Segment(
        id=_require_text(item["id"]),
        kind=_require_text(item["kind"]),
        snapshot_id=_require_text(item["snapshot_id"]),
        rows=int(item["rows"]),
        files=int(item["files"]),
        artifacts=tuple(_parse_artifact(part) for part in item["artifacts"]),
        tombstones=Tombstones(_parse_artifact(tombstone), int(tombstone["count"])) if tombstone else None,
    )


def _segment_json(segment: Segment) -> dict[str, Any]:
    return {
        "id": segment.id,
        "kind": segment.kind,
        "ref_type": "lancedb_table",
        "table": segment.id,
        "snapshot_id": segment.snapshot_id,
        "rows": segment.rows,
        "files": segment.files,
        "size_bytes": sum(item.size_bytes for item in segment.artifacts),
        "sha256": canonical_hash(segment.artifacts),
        "artifacts": [asdict(item) for item in segment.artifacts],
    }


def _tombstones_json(segment: Segment) -> dict[str, Any]:
    assert segment.tombstones is not None
    return {
        "ref_type": "jsonl",
        "segment_id": segment.id,
        "count": segment.tombstones.count,
        **asdict(segment.tombstones.artifact),
    }


def canonical_hash(artifacts: tuple[Artifact, ...]) -> str:
    """One hash for a set of files: of their sorted `path NUL sha256` lines."""
    lines = sorted(f"{item.path}\0{item.sha256}\n" for item in artifacts)
    return sha256_hex("".join(lines).encode())
