"""From an accepted SCIP file to a published snapshot (SE-7): per document, all or nothing.

A document is written only when it differs from the one the snapshot holds; documents the tool no longer gives are
buried. The new semantic segment is built beside the store, against a pinned snapshot, and published under the lease
on whatever snapshot is active then. What other refreshes or a compaction changed meanwhile means building again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from gitindex.errors import ExactFactsError, LeaseHeld, StoreCorrupt
from gitindex.extract.gc_pause import pause_gc
from gitindex.git.repo import Repo
from gitindex.model.ids import ulid
from gitindex.model.manifest import Artifact, Manifest, Segment
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.scip.reader import IndexFile
from gitindex.segment import chunk_table, overlay, scipfacts
from gitindex.segment.scipfacts import ScipWriter, StorableDocument
from gitindex.segment.writer import SegmentWriter, WrittenSegment
from gitindex.semantic import describe, parallel_read, refresh_scope
from gitindex.semantic.contexts import Context
from gitindex.semantic.decode import DecodedIndex, ReadBlob
from gitindex.semantic.package_names import NAMELESS, Naming
from gitindex.semantic.parallel_read import HelperLost, HelperTask, SplitIndex
from gitindex.semantic.refresh_scope import RefreshScope
from gitindex.store import clone, lease, manifests, publish, state_file, steps
from gitindex.store.layout import Layout
from gitindex.view.snapshot import EXACT_KIND, SnapshotView, open_active

_MAX_ATTEMPTS = 3
_DOCUMENTS_PER_CHECK = 200  # documents between two looks at whether anybody still wants them


@dataclass(frozen=True, slots=True)
class ImportSource:
    """What is imported: an index file, the blobs it is about, and how much of it."""

    file: Path
    prefix: str
    context: Context
    blobs: Mapping[str, str]  # path → blob id
    read: ReadBlob
    scope: RefreshScope | None
    entry_fields: Mapping[str, Any]  # of the manifest's entry: tool, version, commit, …
    naming: Naming = NAMELESS
    repo: Repo | None = None  # where a helper process finds the blobs; without it there is none


@dataclass(frozen=True, slots=True)
class ImportResult:
    snapshot_id: str
    documents: int
    written: int
    buried: int
    unchanged: int
    occurrences: int
    demoted: int
    repaired: int
    unresolved: int
    rejected: tuple[tuple[str, str], ...]


def import_documents(
    layout: Layout, source: ImportSource, confirm: Callable[[], None], *, wait: float = 30.0
) -> ImportResult:
    """Publish what changed. `confirm` raises when the output is no longer wanted; it is asked last before the swap.

    Raises SemanticError for an index of which nothing can be kept, and what a publish raises.
    """
    for _ in range(_MAX_ATTEMPTS):
        result = _attempt_import(layout, source, confirm, wait)
        if result is not None:
            return result
    raise LeaseHeld("other writers keep changing the exact facts", hint="gitindex refresh --wait")


def context_key(context: Context) -> str:
    """How documents name their context: what stays when its configuration changes."""
    return f"{context.language}:{context.root}"


def _attempt_import(
    layout: Layout, source: ImportSource, confirm: Callable[[], None], wait: float
) -> ImportResult | None:
    with ExitStack() as stack:
        view = stack.enter_context(_open_active_view(layout))
        txn = ulid()
        folder = stack.enter_context(publish.open_transaction(layout, txn))
        segment_id = f"seg_{txn}_0"

        @cache
        def writer() -> SegmentWriter:
            return SegmentWriter(folder / segment_id, segment_id, view.manifest.dimension, CHUNKER_VERSION)

        with pause_gc():
            result = _write_documents(view, source, folder / segment_id, segment_id, confirm, writer)
        steps.reach("import.lease")
        held_lease = stack.enter_context(lease.hold(layout, txn, wait=wait))
        active = stack.enter_context(_open_active_view(layout))
        if _list_checksums(active.manifest) != _list_checksums(view.manifest):
            return None
        snapshot_id = manifests.next_id(layout, txn)
        staged = stage(active, folder, writer(), snapshot_id)
        entries = _replace_entry(active.manifest, _build_entry(source, result))
        compose = make_composer(active.manifest, snapshot_id, held_lease.epoch, entries)
        publish.publish(layout, held_lease, snapshot_id, staged, active.verifier, compose, confirm)
        return replace(result, snapshot_id=snapshot_id)


def _open_active_view(layout: Layout) -> SnapshotView:
    view = open_active(layout)
    if view is None:
        raise StoreCorrupt(f"store {layout.id} has no snapshot", hint="gitindex sync")
    return view


def _list_checksums(manifest: Manifest) -> list[str]:
    artifacts = (artifact for segment in manifest.segments for artifact in segment.artifacts)
    return [artifact.sha256 for artifact in artifacts if artifact.path.endswith("/scip.sqlite")]


# -- documents -----------------------------------------------------------------------------------------


def _write_documents(
    view: SnapshotView,
    source: ImportSource,
    folder: Path,
    segment: str,
    confirm: Callable[[], None],
    prepare: Callable[[], object],
) -> ImportResult:
    steps.reach("import.decode")
    target = folder / "scip.sqlite"
    try:
        with IndexFile(source.file) as file, _split_with_helper(view, source, file) as split:
            prepare()
            chunk_table.load()  # while the helper starts
            return _decode_and_write(split, file, view, source, target, segment, confirm)
    except HelperLost:
        target.unlink()
    with IndexFile(source.file) as file:
        return _decode_and_write(None, file, view, source, target, segment, confirm)


@contextmanager
def _split_with_helper(
    view: SnapshotView, source: ImportSource, file: IndexFile
) -> Iterator[SplitIndex | None]:
    """A helper for a large file where there is a second core."""
    if source.repo is None or not parallel_read.is_worth_splitting(source.file):
        yield None
        return
    with parallel_read.start_helper() as helper:
        own_documents, helper_documents = parallel_read.split_halves(file, source.prefix)
        stored_files, own_context = tuple(view.scip.paths), context_key(source.context)
        blobs = dict(source.blobs)
        helper.send_task(
            HelperTask(
                source.file,
                source.prefix,
                source.naming,
                source.repo,
                blobs,
                stored_files,
                own_context,
                tuple(helper_documents),
            )
        )
        yield SplitIndex(helper, own_documents)


def _decode_and_write(
    split: SplitIndex | None,
    file: IndexFile,
    view: SnapshotView,
    source: ImportSource,
    target: Path,
    segment: str,
    confirm: Callable[[], None],
) -> ImportResult:
    writer = ScipWriter(target, segment)
    try:
        decoded = _decode_index(split, view, source, file)
        symbol_tables = [
            decoded.symbols_by_name()
        ]  # before the helper's documents: nothing is left to wait for after them
        document_streams = [
            scipfacts.pack_documents(decoded.documents()),
            *([split.helper.receive_documents()] if split else []),
        ]
        document_paths = _write_changed(view, source, chain.from_iterable(document_streams), writer, confirm)
        written_count = writer.files
        hidden_count = _hide_removed(view, source, document_paths, writer)
        steps.reach("import.write")
        externals = (
            (value, describe.pack_external(description)) for value, _, description in decoded.externals()
        )
        if split is not None:
            symbol_tables.append(split.helper.symbols)
        writer.finish(symbol_tables, externals)
    except BaseException:
        writer.abandon()
        raise
    if not written_count and not hidden_count:
        target.unlink()  # nothing changed: only the manifest says so
    summary = decoded.summary
    if split is not None:
        summary.add(split.helper.summary)
    counts = (summary.occurrences, summary.demoted, summary.repaired, summary.unresolved)
    return ImportResult(
        "",
        len(document_paths),
        written_count,
        hidden_count,
        len(document_paths) - written_count,
        *counts,
        tuple(summary.rejected),
    )


def _decode_index(
    split: SplitIndex | None, view: SnapshotView, source: ImportSource, file: IndexFile
) -> DecodedIndex:
    store_defines = parallel_read.defined_elsewhere_check(view.scip, context_key(source.context))
    document_numbers, exchange_defined = (
        (split.own_documents, split.helper.exchange_defined) if split is not None else (None, None)
    )
    return DecodedIndex(
        file,
        source.read,
        prefix=source.prefix,
        store_defines=store_defines,
        naming=source.naming,
        document_numbers=document_numbers,
        exchange_defined=exchange_defined,
    )


def _write_changed(
    view: SnapshotView,
    source: ImportSource,
    documents: Iterable[StorableDocument],
    writer: ScipWriter,
    confirm: Callable[[], None],
) -> set[str]:
    """Write the documents that differ from the stored ones; the paths that have a document."""
    document_paths: set[str] = set()
    key = context_key(source.context)
    for document in documents:
        packed = document.packed
        if len(document_paths) % _DOCUMENTS_PER_CHECK == 0:
            confirm()
        stored_document = view.scip.find_document(packed.path)
        # What is stored already may mean something else now, because of what is in scope: `clean` would lie of it.
        belongs_here = stored_document is not None and stored_document.context == key
        if not belongs_here and not refresh_scope.selects(source.scope, packed.path):
            continue
        document_paths.add(packed.path)
        blob = source.blobs[packed.path]
        if stored_document is not None and (
            stored_document.blob,
            stored_document.context,
            stored_document.digest,
        ) == (blob, key, packed.digest):
            continue
        record = view.record(packed.path)
        syntax = record.interface_hash if record is not None and record.content == blob else ""
        writer.add(document, blob=blob, context=key, syntax=syntax)
    if not document_paths and source.scope is None:
        raise ExactFactsError("the index holds no document of a tracked file", diagnosis="no_documents")
    return document_paths


def _hide_removed(
    view: SnapshotView, source: ImportSource, document_paths: set[str], writer: ScipWriter
) -> int:
    """Hide documents of the context that this run no longer gives."""
    key = context_key(source.context)
    removed_paths = [
        head.path
        for head in view.scip.documents()
        if head.context == key
        and head.path not in document_paths
        and refresh_scope.selects(source.scope, head.path)
    ]
    for path in sorted(removed_paths):
        writer.add_tombstone(path, key)
    return len(removed_paths)


# -- publishing ----------------------------------------------------------------------------------------


def stage(
    active: SnapshotView, folder: Path, writer: SegmentWriter, snapshot_id: str
) -> publish.StagedSnapshot:
    """Beside the documents: a table with the marker, the parent's words and overlay."""
    payload = dict(active.read_marker() or {}) | {"runId": snapshot_id, "completedAt": state_file.now()}
    steps.reach("publish.chunks")
    writer.write_table(payload)
    steps.reach("publish.facts")
    written: WrittenSegment = writer.write_facts(())
    steps.reach("publish.lexical")
    linked = clone.clone_lexical(active.manifest, active.verifier, folder / "lexical")
    overlay.write(folder / "overlay.jsonl", active.overlay().values())
    return publish.StagedSnapshot(folder, (written,), EXACT_KIND, linked)


def _build_entry(source: ImportSource, result: ImportResult) -> dict[str, Any]:
    context = source.context
    return {
        "context": context.id,
        "language": context.language,
        "root": context.root,
        "config_hash": context.config_hash,
        "files": result.documents,
        "occurrences": result.occurrences,
        "demoted": result.demoted,
        "unresolved": result.unresolved,
        **source.entry_fields,
    }


ManifestEntries = tuple[Mapping[str, Any], ...]


def _replace_entry(active: Manifest, entry: Mapping[str, Any]) -> ManifestEntries:
    context_place = (entry["language"], entry["root"])
    other_entries = [item for item in active.semantic if (item["language"], item["root"]) != context_place]
    return tuple(sorted([*other_entries, entry], key=lambda item: (item["language"], item["root"])))


def make_composer(
    active: Manifest, txn: str, epoch: int, entries: ManifestEntries
) -> publish.ComposeManifest:
    """The active manifest with one more segment; `entries` say what was imported."""

    def compose(
        segments: tuple[Segment, ...], lexical: tuple[Artifact, ...], overlay_artifact: Artifact
    ) -> Manifest:
        return replace(
            active,
            snapshot_id=txn,
            parent_snapshot_id=active.snapshot_id,
            created_at=state_file.now(),
            lease_epoch=epoch,
            segments=(*active.segments, *segments),
            lexical=lexical,
            overlay=overlay_artifact,
            counts=replace(active.counts, tombstones_added=0),
            timings_ms={name: ms for name, ms in active.timings_ms.items() if name == "total"},
            origin=active.origin.amend(),
            semantic=entries,
        )

    return compose
