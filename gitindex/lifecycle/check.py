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


def damaged(view: SnapshotView) -> list[tuple[Artifact, str]]:
    """Artifacts whose bytes differ from the manifest; every one is read, notes count for nothing."""
    found: list[tuple[Artifact, str]] = []
    for artifact in view.manifest.artifacts():
        try:
            view.verifier.rehash(artifact)
        except ChecksumMismatch as error:
            found.append((artifact, error.message))
        except OSError as error:
            found.append((artifact, f"{artifact.path} cannot be read: {error}"))
    return found


def inspect(view: SnapshotView, digest: Digest | None = None) -> list[Problem]:
    """All problems of a snapshot: damage first; layers are compared only when the bytes are whole."""
    broken = [Problem("checksum_mismatch", message, artifact.path) for artifact, message in damaged(view)]
    if broken:
        return broken
    try:
        return differences(view, digest)
    except (IntegrityError, IncompatibleVersion) as error:
        return [Problem(error.code, error.message)]


def differences(view: SnapshotView, digest: Digest | None = None) -> list[Problem]:
    """Where counts, layers and the marker of a snapshot disagree, though its bytes are whole.

    Rows of tables that do not fit their schema are not read. Raises IntegrityError, and IncompatibleVersion for files
    of another release.
    """
    held = _segments(view)
    if any(problem.code == contents.SCHEMA_MISMATCH for problem in held):
        return held
    return [*held, *_counts(view, digest), *_layers(view), *_marker(view)]


def _segments(view: SnapshotView) -> list[Problem]:
    """Every table against the schema of chunk rows, every segment against its entry in the manifest."""
    return [
        Problem(*flaw)
        for segment in view.manifest.segments
        for flaw in contents.find_flaws(view.layout, segment, view.manifest.dimension)
    ]


def _counts(view: SnapshotView, digest: Digest | None) -> list[Problem]:
    """The manifest's totals against the live records, and against the live rows where they were read (`digest`)."""
    claimed = view.manifest.counts
    held = compose.count(None, (), view.records(), claimed.tombstones_added)
    problems = [
        Problem(
            "count_drift", f"the manifest counts {name} {_plain(said)}, the live files have {_plain(real)}"
        )
        for name, said in asdict(claimed).items()
        if _plain(said) != _plain(real := getattr(held, name))
    ]
    if digest is not None:
        pairs = (
            ("symbols", claimed.symbols, digest.symbols),
            ("edges", claimed.edges, digest.edges),
            ("entities", claimed.entities, digest.entities),
        )
        problems += [
            Problem("count_drift", f"the manifest counts {said} {name}, the live view holds {real}")
            for name, said, real in pairs
            if said != real
        ]
    return problems


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value


def _layers(view: SnapshotView) -> list[Problem]:
    """Tables and the lexical index hold the same chunks; each belongs to a live, indexed file and is there once."""
    rows: set[tuple[str, int, str]] = set()
    live = 0
    for at in range(len(view.manifest.segments)):
        for batch in view.chunk_batches(at, ["path_key", "ordinal", "chunk_hash"]):
            columns = (batch.column(name).to_pylist() for name in ("path_key", "ordinal", "chunk_hash"))
            live += batch.num_rows
            rows.update((path, ordinal, digest.hex()) for path, ordinal, digest in zip(*columns, strict=True))
    words = {(found.path, found.ordinal, chunk_hash(found.text)) for found in view.lexical.iter_documents()}
    problems = []
    if live != view.manifest.counts.chunks_indexed:
        said = view.manifest.counts.chunks_indexed
        problems.append(
            Problem("count_drift", f"the manifest counts {said} chunks, tables hold {live} live rows")
        )
    if rows != words:
        odd = sorted(rows ^ words)[0]
        problems.append(
            Problem(
                "layer_drift",
                f"tables and lexical index differ in {len(rows ^ words)} chunks, first {odd[:2]}",
            )
        )
    indexed = {record.path for record in view.records() if not record.skip}
    strays = {path for path, _, _ in rows} - indexed
    if strays:
        problems.append(Problem("layer_drift", f"chunks without a file record: {sorted(strays)[0]}"))
    return problems


def _marker(view: SnapshotView) -> list[Problem]:
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
