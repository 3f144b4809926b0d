"""Publishes a snapshot, in named steps (SN-4).

Invariants: nothing is visible before `publish.swap`; everything visible was flushed, hashed and verified; this process
holds the lease (owner and epoch) while the pointer moves, and no later lease has published. A crash at any step leaves
the old or the new snapshot active and, at worst, unreferenced files for gc.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gitindex.errors import IntegrityError, LeaseHeld, LeaseLost, WriteVerificationFailed
from gitindex.model.manifest import Artifact, Manifest, Segment, Tombstones
from gitindex.segment import chunk_table, lexical_index
from gitindex.segment.facts import Facts
from gitindex.segment.writer import WrittenSegment
from gitindex.store import atomic, contents, integrity, manifests, staging, state_file, steps
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.store.lease import Lease


@dataclass(frozen=True, slots=True)
class StagedSnapshot:
    """Finished files below `staging/<txn>/`, not yet hashed."""

    folder: Path
    segments: tuple[WrittenSegment, ...]
    segment_kind: str  # of the new segments
    # Lexical files that were linked from the parent, by inode.
    linked_artifacts: Mapping[int, Artifact] = field(default_factory=dict)
    expected_paths: frozenset[str] = frozenset()  # paths the new segments must hold


class InstalledFiles(NamedTuple):
    """What the files of a snapshot are in its manifest."""

    segments: tuple[Segment, ...]
    lexical: tuple[Artifact, ...]
    overlay: Artifact


# New segments, files of the lexical index, overlay → manifest.
ComposeManifest = Callable[[tuple[Segment, ...], tuple[Artifact, ...], Artifact], Manifest]


@contextmanager
def open_transaction(layout: Layout, txn: str, lease: Lease | None = None) -> Iterator[Path]:
    """A staging directory for the body, removed at its end. Without a `lease`, others may publish meanwhile.

    Raises IncompatibleVersion for a store of another release (ST-6).
    """
    state_file.read(layout)
    steps.reach("publish.stage")
    with staging.open_transaction(layout, txn, lease.epoch if lease else 0) as folder:
        yield folder


def publish(
    layout: Layout,
    lease: Lease,
    snapshot_id: str,
    staged: StagedSnapshot,
    *,
    verifier: Verifier,
    compose: ComposeManifest,
    confirm: Callable[[], None] = lambda: None,
) -> Manifest:
    """Make `staged` the active snapshot. `confirm` runs right before the swap; an exception from it stops the publish.

    Raises LeaseLost, WriteVerificationFailed, ChecksumMismatch, StorageFull, StoreUnwritable: then nothing changed.
    """
    with atomic.translate_storage_errors(layout.base):
        steps.reach("publish.flush")
        _flush(staged)
        steps.reach("publish.hash")
        lease.check()
        steps.reach("publish.install")
        installed = _install(layout, snapshot_id, staged)
        manifest = compose(installed.segments, installed.lexical, installed.overlay)
        with _withdraw_unless_active(layout, snapshot_id):
            steps.reach("publish.manifest")
            manifests.write(layout, manifest)
            steps.reach("publish.preflight")
            lease.check()
            steps.reach("publish.gate")
            _verify_snapshot(layout, manifest, staged, verifier)
            lease.check()
            confirm()
            steps.reach("publish.swap")
            swap(layout, lease, snapshot_id)
        steps.reach("publish.state")
        _record_publish(layout, lease, manifest)
        steps.reach("publish.done")
    return manifest


def activate_installed(layout: Layout, lease: Lease, manifest: Manifest, verifier: Verifier) -> Manifest:
    """Make a fetched snapshot active, whose artifacts are installed and verified.

    Does not read the completion marker: the builder did, and every byte is the one that was signed, so the checksum of
    the newest table stands for that check, as it does after a publish. Raises as `publish` does.
    """
    with atomic.translate_storage_errors(layout.base):
        steps.reach("publish.manifest")
        atomic.make_folder(layout.snapshot(manifest.snapshot_id))
        atomic.write_bytes(layout.base / manifest.overlay.path, b"")
        manifests.write(layout, manifest)
        steps.reach("publish.preflight")
        lease.check()
        steps.reach("publish.gate")
        with _withdraw_if_refused(layout, manifest.snapshot_id):
            verifier.verify_all(_read_back(layout, manifest).artifacts())
            _check_counts(layout, manifest)
            _refuse_flaws(contents.find_facts_flaws(layout, manifest))
        lease.check()
        steps.reach("publish.swap")
        swap(layout, lease, manifest.snapshot_id)
        steps.reach("publish.state")
        _record_publish(layout, lease, manifest)
        steps.reach("publish.done")
    return manifest


def swap(layout: Layout, lease: Lease, snapshot_id: str) -> None:
    """Make an intact snapshot the active one. Raises LeaseLost; then nothing changed."""
    with lease.fence():
        manifests.activate(layout, snapshot_id, lease.epoch)


@contextmanager
def _withdraw_if_refused(layout: Layout, snapshot_id: str) -> Iterator[None]:
    """Remove a refused snapshot, else a reader that has lost the pointer could choose it (SN-11)."""
    try:
        yield
    except (WriteVerificationFailed, IntegrityError):
        atomic.remove_tree(layout.snapshot(snapshot_id))
        raise


@contextmanager
def _withdraw_unless_active(layout: Layout, snapshot_id: str) -> Iterator[None]:
    """Remove a snapshot that this process built, whatever stopped its publish.

    Safe even after the lease was lost: no other process uses its id.
    """
    try:
        yield
    except Exception:
        if manifests.read_active_id(layout) != snapshot_id:
            atomic.remove_tree(layout.snapshot(snapshot_id))
        raise


def _flush(staged: StagedSnapshot) -> None:
    """fsync what this transaction wrote; files linked from the parent are durable already."""
    new_paths: list[Path] = []
    for folder, _, names in os.walk(staged.folder):
        atomic.restrict(Path(folder))  # Tantivy and Lance ignore our permissions (ST-3)
        new_paths.append(Path(folder))
        for path in (Path(folder, name) for name in names):
            if path.stat().st_ino not in staged.linked_artifacts:
                atomic.restrict(path)
                new_paths.append(path)
    atomic.sync_all(new_paths)


def _install(layout: Layout, snapshot_id: str, staged: StagedSnapshot) -> InstalledFiles:
    """Move staged files to their final names, then hash them there (after the durability barrier)."""
    segment_files = {written.id: _install_segment(layout, staged, written) for written in staged.segments}
    lexical_dir = layout.lexical(snapshot_id)
    atomic.move(staged.folder / "lexical", lexical_dir)
    lexical_files = lexical_index.list_files(lexical_dir)
    parent_artifacts = {path: staged.linked_artifacts.get(path.stat().st_ino) for path in lexical_files}
    snapshot_dir = layout.snapshot(snapshot_id)
    atomic.make_folder(snapshot_dir)
    overlay = snapshot_dir / "overlay.jsonl"
    atomic.move(staged.folder / "overlay.jsonl", overlay)
    new_lexical_files = [path for path, artifact in parent_artifacts.items() if artifact is None]
    artifacts_by_path = integrity.describe_artifacts(
        layout, [*itertools.chain(*segment_files.values()), *new_lexical_files, overlay]
    )
    segments = tuple(
        _describe_segment(
            layout,
            snapshot_id,
            staged.segment_kind,
            written,
            {path: artifacts_by_path[path] for path in segment_files[written.id]},
        )
        for written in staged.segments
    )
    lexical = tuple(
        _relocate_artifact(layout, artifact, path) if artifact else artifacts_by_path[path]
        for path, artifact in parent_artifacts.items()
    )
    return InstalledFiles(segments, lexical, artifacts_by_path[overlay])


def _install_segment(layout: Layout, staged: StagedSnapshot, written: WrittenSegment) -> list[Path]:
    source = staged.folder / written.id
    table = layout.table(written.id)
    folder = layout.segment(written.id)
    atomic.move(source / table.name, table)
    atomic.move(source, folder)
    return [*(path for path in table.rglob("*") if path.is_file()), *folder.iterdir()]


def _describe_segment(
    layout: Layout,
    snapshot_id: str,
    kind: str,
    written: WrittenSegment,
    artifacts_by_path: dict[Path, Artifact],
) -> Segment:
    tombstone_artifact = artifacts_by_path.pop(layout.tombstones(written.id))
    return Segment(
        id=written.id,
        kind=kind,
        snapshot_id=snapshot_id,
        rows=written.rows,
        files=written.files,
        artifacts=tuple(sorted(artifacts_by_path.values(), key=lambda item: item.path)),
        tombstones=Tombstones(tombstone_artifact, written.tombstones),
    )


def _relocate_artifact(layout: Layout, artifact: Artifact, path: Path) -> Artifact:
    """The artifact of a file linked from the parent: same bytes and hash, another path."""
    return Artifact(path.relative_to(layout.base).as_posix(), artifact.size_bytes, artifact.sha256)


def _verify_snapshot(layout: Layout, manifest: Manifest, staged: StagedSnapshot, verifier: Verifier) -> None:
    """Check that what is on disk is what the manifest says, and that it is complete."""
    stored = _read_back(layout, manifest)
    linked_hashes = {artifact.sha256 for artifact in staged.linked_artifacts.values()}
    for artifact in stored.artifacts():
        if artifact.sha256 in linked_hashes:
            verifier.mark_verified(artifact)
    verifier.verify_all(stored.artifacts())
    _check_counts(layout, stored)
    _check_written(layout, stored, staged)
    _check_expected(layout, staged)
    _check_marker(layout, stored)


def _read_back(layout: Layout, manifest: Manifest) -> Manifest:
    stored = manifests.read(layout, manifest.snapshot_id)
    if stored != manifest:
        raise WriteVerificationFailed(
            f"manifest {manifest.snapshot_id} does not read back as written", hint="gitindex sync"
        )
    return stored


def _check_counts(layout: Layout, manifest: Manifest) -> None:
    documents = lexical_index.LexicalIndex(layout.lexical(manifest.snapshot_id)).document_count
    if documents != manifest.counts.chunks_indexed:
        raise WriteVerificationFailed(
            f"the lexical index holds {documents} chunks, the manifest counts {manifest.counts.chunks_indexed}",
            hint="gitindex sync --full",
        )
    for message in contents.find_impossible_counts(manifest):
        raise WriteVerificationFailed(message, hint="gitindex sync --full")


def _check_written(layout: Layout, manifest: Manifest, staged: StagedSnapshot) -> None:
    """Check schema and counts of each new segment; the older ones were checked by their own publish."""
    new_ids = {written.id for written in staged.segments}
    newest = manifest.segments[-1].id
    for segment in manifest.segments:
        if segment.id in new_ids:
            markers = int(segment.id == newest)
            _refuse_flaws(contents.find_flaws(layout, segment, manifest.dimension, markers))


def _refuse_flaws(flaws: Iterable[contents.Flaw]) -> None:
    for flaw in flaws:
        raise WriteVerificationFailed(flaw.message, hint="gitindex sync --full", artifact=flaw.artifact)


def _check_marker(layout: Layout, manifest: Manifest) -> None:
    """Check that the newest table has the marker of this snapshot (C-4); later, its checksum stands for this check."""
    marker = chunk_table.read_marker(layout.table(manifest.segments[-1].id))
    if marker is None or marker.get("runId") != manifest.snapshot_id:
        raise WriteVerificationFailed(
            f"snapshot {manifest.snapshot_id} has no completion marker", hint="gitindex sync"
        )


def _check_expected(layout: Layout, staged: StagedSnapshot) -> None:
    """Check that the new segments hold every path that they should."""
    stored_paths: set[str] = set()
    for written in staged.segments:
        facts = Facts(layout.facts(written.id))
        stored_paths.update(facts.paths())
        facts.close()
    missing = sorted(staged.expected_paths - stored_paths)
    if missing:
        raise WriteVerificationFailed(
            f"{len(missing)} changed file(s) are not in the new segment, first {missing[0]}",
            hint="gitindex sync",
        )


def _record_publish(layout: Layout, lease: Lease, manifest: Manifest) -> None:
    """Update the checksum cache and the store state; both can be rebuilt after a crash."""
    with suppress(LeaseLost, LeaseHeld), lease.fence():  # a later writer has written newer ones
        integrity.write_checksum_cache(layout, manifest.artifacts())
        state = state_file.read(layout)
        if state is not None:
            state_file.write(layout, state_file.apply_publish(state, manifest))
    state_file.touch_last_used(layout)
