"""Checks a snapshot: the bytes of every artifact, the layers against each other, and all counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

from gitindex.errors import ChecksumMismatch, IncompatibleVersion, IntegrityError
from gitindex.indexing import compose
from gitindex.lifecycle.digest import Digest
from gitindex.model.ids import chunk_hash
from gitindex.model.manifest import Artifact
from gitindex.store import contents
from gitindex.view.snapshot import SnapshotView


@dataclass(frozen=True, slots=True)
class Problem:
    """A difference between a snapshot and its manifest, or between its layers."""

    code: str
    message: str
    artifact: str = ""


class DamagedArtifact(NamedTuple):
    """An artifact whose bytes are not those of the manifest."""

    artifact: Artifact
    message: str


class ChunkKey(NamedTuple):
    """Identifies a chunk in tables and lexical index."""

    path: str
    ordinal: int
    chunk_hash: str


def find_damaged_artifacts(view: SnapshotView) -> list[DamagedArtifact]:
    """Artifacts whose bytes differ from the manifest. Reads every one and ignores the checksum cache."""
    damage: list[DamagedArtifact] = []
    for artifact in view.manifest.artifacts():
        try:
            view.verifier.rehash(artifact)
        except ChecksumMismatch as error:
            damage.append(DamagedArtifact(artifact, error.message))
        except OSError as error:
            damage.append(DamagedArtifact(artifact, f"{artifact.path} cannot be read: {error}"))
    return damage


def inspect(view: SnapshotView, digest: Digest | None = None) -> list[Problem]:
    """All problems of a snapshot; compares layers only if no artifact is damaged."""
    problems = [
        Problem("checksum_mismatch", message, artifact.path)
        for artifact, message in find_damaged_artifacts(view)
    ]
    if problems:
        return problems
    try:
        return find_inconsistencies(view, digest)
    except (IntegrityError, IncompatibleVersion) as error:
        return [Problem(error.code, error.message)]


def find_inconsistencies(view: SnapshotView, digest: Digest | None = None) -> list[Problem]:
    """Where counts, layers and the marker of a snapshot disagree, though no artifact is damaged.

    Does not read rows when a table does not fit its schema. Raises IntegrityError, and IncompatibleVersion for files
    of another release.
    """
    problems = _check_segments(view)
    if any(problem.code == contents.SCHEMA_MISMATCH for problem in problems):
        return problems
    return [*problems, *_check_counts(view, digest), *_check_layers(view), *_check_marker(view)]


def _check_segments(view: SnapshotView) -> list[Problem]:
    """Compare every table with the schema of chunk rows, and every segment with its entry in the manifest."""
    return [
        Problem(*flaw)
        for segment in view.manifest.segments
        for flaw in contents.find_flaws(view.layout, segment, view.manifest.dimension)
    ]


def _check_counts(view: SnapshotView, digest: Digest | None) -> list[Problem]:
    """Compare the manifest's totals with the live records and, given a `digest`, with the live rows it counted."""
    recorded = view.manifest.counts
    actual = compose.compute_counts(None, (), view.records(), recorded.tombstones_added)
    problems = [
        Problem(
            "count_drift",
            f"the manifest counts {name} {_to_comparable(expected)}, the live files have {_to_comparable(real)}",
        )
        for name, expected in asdict(recorded).items()
        if _to_comparable(expected) != _to_comparable(real := getattr(actual, name))
    ]
    if digest is not None:
        pairs = (
            ("symbols", recorded.symbols, digest.symbols),
            ("edges", recorded.edges, digest.edges),
            ("entities", recorded.entities, digest.entities),
        )
        problems += [
            Problem("count_drift", f"the manifest counts {expected} {name}, the live view holds {real}")
            for name, expected, real in pairs
            if expected != real
        ]
    return problems


def _to_comparable(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value


def _check_layers(view: SnapshotView) -> list[Problem]:
    """Tables and the lexical index must hold the same chunks, each once and of a live, indexed file."""
    table_chunks: set[ChunkKey] = set()
    live_rows = 0
    for index in range(len(view.manifest.segments)):
        for batch in view.chunk_batches(index, ["path_key", "ordinal", "chunk_hash"]):
            columns = (batch.column(name).to_pylist() for name in ("path_key", "ordinal", "chunk_hash"))
            live_rows += batch.num_rows
            table_chunks.update(
                ChunkKey(path, ordinal, digest.hex()) for path, ordinal, digest in zip(*columns, strict=True)
            )
    lexical_chunks = {
        ChunkKey(document.path, document.ordinal, chunk_hash(document.text))
        for document in view.lexical.iter_documents()
    }
    problems = []
    if live_rows != view.manifest.counts.chunks_indexed:
        expected = view.manifest.counts.chunks_indexed
        message = f"the manifest counts {expected} chunks, tables hold {live_rows} live rows"
        problems.append(Problem("count_drift", message))
    differing = sorted(table_chunks ^ lexical_chunks)
    if differing:
        first = (differing[0].path, differing[0].ordinal)
        message = f"tables and lexical index differ in {len(differing)} chunks, first {first}"
        problems.append(Problem("layer_drift", message))
    indexed = {record.path for record in view.records() if not record.skip}
    orphan_paths = {chunk.path for chunk in table_chunks} - indexed
    if orphan_paths:
        problems.append(Problem("layer_drift", f"chunks without a file record: {sorted(orphan_paths)[0]}"))
    return problems


def _check_marker(view: SnapshotView) -> list[Problem]:
    marker = view.read_marker()
    if marker is None:
        return [Problem("missing_marker_doc", "the newest table has no completion marker")]
    if marker.get("runId") != view.manifest.snapshot_id:
        message = f"the completion marker proves {marker.get('runId')}, not this snapshot"
        return [Problem("invalid_payload", message)]
    return []
