"""Checking a snapshot: every artifact's bytes, every layer against the others, every count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from gitindex.errors import ChecksumMismatch, IncompatibleVersion, IntegrityError
from gitindex.indexing import compose
from gitindex.lifecycle.digest import Digest
from gitindex.model.ids import chunk_hash
from gitindex.model.manifest import Artifact
from gitindex.store import contents
from gitindex.view.snapshot import SnapshotView


@dataclass(frozen=True, slots=True)
class Problem:
    code: str
    message: str
    artifact: str = ""


def find_damaged_artifacts(view: SnapshotView) -> list[tuple[Artifact, str]]:
    """Artifacts whose bytes differ from the manifest; every one is read, notes count for nothing."""
    damage: list[tuple[Artifact, str]] = []
    for artifact in view.manifest.artifacts():
        try:
            view.verifier.rehash(artifact)
        except ChecksumMismatch as error:
            damage.append((artifact, error.message))
        except OSError as error:
            damage.append((artifact, f"{artifact.path} cannot be read: {error}"))
    return damage


def inspect(view: SnapshotView, digest: Digest | None = None) -> list[Problem]:
    """All problems of a snapshot: damage first; layers are compared only when the bytes are whole."""
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
    """Where counts, layers and the marker of a snapshot disagree, though its bytes are whole.

    Rows of tables that do not fit their schema are not read. Raises IntegrityError, and IncompatibleVersion for files
    of another release.
    """
    problems = _check_segments(view)
    if any(problem.code == contents.SCHEMA_MISMATCH for problem in problems):
        return problems
    return [*problems, *_check_counts(view, digest), *_check_layers(view), *_check_marker(view)]


def _check_segments(view: SnapshotView) -> list[Problem]:
    """Every table against the schema of chunk rows, every segment against its entry in the manifest."""
    return [
        Problem(*flaw)
        for segment in view.manifest.segments
        for flaw in contents.find_flaws(view.layout, segment, view.manifest.dimension)
    ]


def _check_counts(view: SnapshotView, digest: Digest | None) -> list[Problem]:
    """The manifest's totals against the live records, and against the live rows where they were read (`digest`)."""
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
            Problem("count_drift", f"the manifest counts {said} {name}, the live view holds {real}")
            for name, said, real in pairs
            if said != real
        ]
    return problems


def _to_comparable(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value


def _check_layers(view: SnapshotView) -> list[Problem]:
    """Tables and the lexical index hold the same chunks; each belongs to a live, indexed file and is there once."""
    table_chunks: set[tuple[str, int, str]] = set()
    live_rows = 0
    for index in range(len(view.manifest.segments)):
        for batch in view.chunk_batches(index, ["path_key", "ordinal", "chunk_hash"]):
            columns = (batch.column(name).to_pylist() for name in ("path_key", "ordinal", "chunk_hash"))
            live_rows += batch.num_rows
            table_chunks.update(
                (path, ordinal, digest.hex()) for path, ordinal, digest in zip(*columns, strict=True)
            )
    lexical_chunks = {
        (document.path, document.ordinal, chunk_hash(document.text))
        for document in view.lexical.iter_documents()
    }
    problems = []
    if live_rows != view.manifest.counts.chunks_indexed:
        expected = view.manifest.counts.chunks_indexed
        problems.append(
            Problem(
                "count_drift", f"the manifest counts {expected} chunks, tables hold {live_rows} live rows"
            )
        )
    if table_chunks != lexical_chunks:
        first_difference = sorted(table_chunks ^ lexical_chunks)[0]
        problems.append(
            Problem(
                "layer_drift",
                f"tables and lexical index differ in {len(table_chunks ^ lexical_chunks)} chunks, first {first_difference[:2]}",
            )
        )
    indexed = {record.path for record in view.records() if not record.skip}
    orphan_paths = {path for path, _, _ in table_chunks} - indexed
    if orphan_paths:
        problems.append(Problem("layer_drift", f"chunks without a file record: {sorted(orphan_paths)[0]}"))
    return problems


def _check_marker(view: SnapshotView) -> list[Problem]:
    marker = view.read_marker()
    if marker is None:
        return [Problem("missing_marker_doc", "the newest table has no completion marker")]
    if marker.get("runId") != view.manifest.snapshot_id:
        return [
            Problem(
                "invalid_payload", f"the completion marker proves {marker.get('runId')}, not this snapshot"
            )
        ]
    return []
