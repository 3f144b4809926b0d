"""Table of contents of a snapshot: the object of each artifact. Pure.

Its hash is signed, so it is the publisher's own; its paths are checked all the same, because files are made of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gitindex.errors import IntegrityError, UnsafePath
from gitindex.model.paths import casefold_key, path_key
from gitindex.model.versions import TOC_VERSION
from gitindex.remote import stored_objects
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.trust import strictjson
from gitindex.trust.claim import HASH_PATTERN, SnapshotClaim, TocReference, Totals
from gitindex.trust.strictjson import MalformedError

MAX_TOC_BYTES = 16 * 1024 * 1024
MAX_ARTIFACTS = 100_000
_FIELDS = ("path", "sha256", "size", "raw_sha256", "raw_size")


@dataclass(frozen=True, slots=True)
class TocEntry:
    path: str  # inside the snapshot, `/` between names
    packed: PackedArtifact


@dataclass(frozen=True, slots=True)
class Toc:
    """Entries in order of path; several may share one object."""

    entries: tuple[TocEntry, ...]

    @property
    def totals(self) -> Totals:
        """Number of artifacts, stored bytes (a shared object counts once) and raw bytes."""
        stored = {entry.packed.sha256: entry.packed.size for entry in self.entries}
        return Totals(
            len(self.entries), sum(stored.values()), sum(entry.packed.raw_size for entry in self.entries)
        )


def make(entries: Iterable[TocEntry]) -> Toc:
    return _validate_entries(tuple(sorted(entries, key=lambda entry: entry.path)))


def encode(toc: Toc) -> bytes:
    artifacts = [
        {
            "path": entry.path,
            "sha256": entry.packed.sha256,
            "size": entry.packed.size,
            "raw_sha256": entry.packed.raw_sha256,
            "raw_size": entry.packed.raw_size,
        }
        for entry in toc.entries
    ]
    return strictjson.dump({"version": TOC_VERSION, "artifacts": artifacts})


def decode(data: bytes, claim: SnapshotClaim | None = None) -> Toc:
    """Read a table of contents, and compare its totals with those of the claim.

    Raises IntegrityError for anything but what `encode` writes.
    """
    try:
        fields = strictjson.require_record(
            strictjson.parse(data, limit=MAX_TOC_BYTES), ("version", "artifacts"), "table of contents"
        )
        if fields["version"] != TOC_VERSION:
            raise MalformedError(f"its version is {fields['version']!r}, this release reads {TOC_VERSION}")
        artifacts = strictjson.require_list(fields["artifacts"], "artifacts", maximum=MAX_ARTIFACTS)
        toc = _validate_entries(tuple(map(_decode_entry, artifacts)))
        if claim is not None and toc.totals != claim.totals:
            raise MalformedError("its sums differ from the signed ones")
    except MalformedError as error:
        raise IntegrityError(f"the table of contents is malformed: {error}", hint="gitindex verify") from None
    return toc


def pack(toc: Toc) -> tuple[TocReference, bytes]:
    """The stored bytes of the table, and the reference to them for the claim."""
    packed, stored = stored_objects.pack_bytes(encode(toc))
    return TocReference(packed.sha256, packed.size, packed.raw_sha256, packed.raw_size), stored


def unpack(stored: bytes, claim: SnapshotClaim) -> Toc:
    """The table of a verified claim, from its stored bytes. Raises ChecksumMismatch, IntegrityError."""
    reference = claim.toc
    if reference.raw_size > MAX_TOC_BYTES:
        raise IntegrityError(
            f"the table of contents has {reference.raw_size} bytes, more than {MAX_TOC_BYTES}"
        )
    packed = PackedArtifact(reference.sha256, reference.size, reference.raw_sha256, reference.raw_size)
    return decode(stored_objects.unpack_bytes(stored, packed), claim)


def _decode_entry(value: object) -> TocEntry:
    fields = strictjson.require_record(value, _FIELDS, "artifact")
    packed = PackedArtifact(
        strictjson.require_match(fields["sha256"], HASH_PATTERN, "stored hash"),
        strictjson.require_count(fields["size"], "stored size"),
        strictjson.require_match(fields["raw_sha256"], HASH_PATTERN, "raw hash"),
        strictjson.require_count(fields["raw_size"], "raw size"),
    )
    return TocEntry(strictjson.require_text(fields["path"], "path", maximum=1024), packed)


def _validate_entries(entries: tuple[TocEntry, ...]) -> Toc:
    """Require that each path names one file inside the snapshot on any file system, and each object has one
    description."""
    artifact_by_hash: dict[str, PackedArtifact] = {}
    for entry in entries:
        if artifact_by_hash.setdefault(entry.packed.sha256, entry.packed) != entry.packed:
            raise MalformedError(f"object {entry.packed.sha256} is described in two ways")
    paths = [_validate_path(entry.path) for entry in entries]
    if paths != sorted(set(paths)) or len({casefold_key(path) for path in paths}) != len(paths):
        raise MalformedError("paths are not distinct and in order")
    folders = {path[:end] for path in paths for end, letter in enumerate(path) if letter == "/"}
    if folders & set(paths):
        raise MalformedError("a path is both a file and a directory")
    return Toc(entries)


def _validate_path(path: str) -> str:
    try:
        is_safe = path_key(path) == path and "\\" not in path
    except UnsafePath:
        is_safe = False
    if not is_safe:
        raise MalformedError(f"{path!r} is not a path inside a snapshot")
    return path
