"""Imports an accepted SCIP file into a published snapshot, whole documents only (SE-7).

A document is written only when it differs from the one in the snapshot; documents that the tool no longer gives get a
tombstone. The new exact segment is built in a transaction, against an open snapshot, and published under the lease on
the snapshot that is active then. When another refresh or a compaction has changed the exact facts meanwhile, the
import is repeated.
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
_DOCUMENTS_PER_CHECK = 200  # between two calls of `confirm`


@dataclass(frozen=True, slots=True)
class ImportSource:
    """An index file to import, the blobs that it describes, and the scope of the import."""

    file: Path
    prefix: str  # of document paths within the repository
    context: Context
    blobs: Mapping[str, str]  # path → blob id
    read: ReadBlob
    scope: RefreshScope | None  # None: everything
    entry_fields: Mapping[str, Any]  # of the manifest's entry: tool, version, commit, …
    naming: Naming = NAMELESS
    repo: Repo | None = None  # where a helper process reads the blobs; None: no helper


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Counts of documents, then of occurrences."""

    snapshot_id: str
    documents: int
    written: int
    buried: int  # hidden by a tombstone
    unchanged: int
    occurrences: int
    demoted: int
    repaired: int
    unresolved: int
    rejected: tuple[tuple[str, str], ...]  # (path as written, reason)


@dataclass(frozen=True, slots=True)
class _ImportTask:
    """One attempt: documents of `source` that differ from those of `view` go into the file `target`."""

    view: SnapshotView
    source: ImportSource
    target: Path
    segment_id: str
    confirm: Callable[[], None]

    @property
    def context(self) -> str:
        return context_key(self.source.context)


def import_documents(
    layout: Layout, source: ImportSource, confirm: Callable[[], None], *, wait: float = 30.0
) -> ImportResult:
    """Publish the changed documents.

    `confirm` raises when the job is no longer current; it is called several times, last before the swap.

    Raises ExactFactsError for an index without a document of a tracked file, and everything that a publish raises.
    """
    for _ in range(_MAX_ATTEMPTS):
        result = _attempt_import(layout, source, confirm, wait)
        if result is not None:
            return result
    raise LeaseHeld("other writers keep changing the exact facts", hint="gitindex refresh --wait")


def context_key(context: Context) -> str:
    """The name of a context in stored documents: it stays the same when the configuration changes."""
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

        task = _ImportTask(view, source, folder / segment_id / "scip.sqlite", segment_id, confirm)
        with pause_gc():
            result = _write_documents(task, prepare=writer)
        steps.reach("import.lease")
        held_lease = stack.enter_context(lease.hold(layout, txn, wait=wait))
        active = stack.enter_context(_open_active_view(layout))
        if _list_checksums(active.manifest) != _list_checksums(view.manifest):
            return None
        snapshot_id = manifests.next_id(layout, txn)
        staged = stage(active, folder, writer(), snapshot_id)
        entries = _replace_entry(active.manifest, _build_entry(source, result))
        compose = make_composer(active.manifest, snapshot_id, held_lease.epoch, entries)
        publish.publish(
            layout,
            held_lease,
            snapshot_id,
            staged,
            verifier=active.verifier,
            compose=compose,
            confirm=confirm,
        )
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


def _write_documents(task: _ImportTask, *, prepare: Callable[[], object]) -> ImportResult:
    """Write `task.target`, with a helper process where that pays. `prepare` runs while the helper starts."""
    steps.reach("import.decode")
    try:
        with IndexFile(task.source.file) as file, _split_with_helper(task, file) as split:
            prepare()
            chunk_table.load()
            return _decode_and_write(task, file, split)
    except HelperLost:
        task.target.unlink()
    with IndexFile(task.source.file) as file:
        return _decode_and_write(task, file, None)


@contextmanager
def _split_with_helper(task: _ImportTask, file: IndexFile) -> Iterator[SplitIndex | None]:
    """A helper process for a large file, where there is a second core."""
    source = task.source
    if source.repo is None or not parallel_read.is_worth_splitting(source.file):
        yield None
        return
    with parallel_read.start_helper() as helper:
        own_documents, helper_documents = parallel_read.split_halves(file, source.prefix)
        helper.send_task(
            HelperTask(
                file=source.file,
                prefix=source.prefix,
                naming=source.naming,
                repo=source.repo,
                blobs=dict(source.blobs),
                stored_files=tuple(task.view.scip.paths),
                context=task.context,
                documents=tuple(helper_documents),
            )
        )
        yield SplitIndex(helper, own_documents)


def _decode_and_write(task: _ImportTask, file: IndexFile, split: SplitIndex | None) -> ImportResult:
    writer = ScipWriter(task.target, task.segment_id)
    try:
        decoded = _decode_index(task, file, split)
        # Before the documents: the helper is still at work then, and after its documents there is nothing to wait for.
        symbol_tables = [decoded.symbols_by_name()]
        documents = scipfacts.pack_documents(decoded.documents())
        helper_documents = split.helper.receive_documents() if split else ()
        document_paths = _write_changed(task, chain(documents, helper_documents), writer)
        written_count = writer.files
        hidden_count = _hide_removed(task, document_paths, writer)
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
        task.target.unlink()  # nothing changed: the new snapshot differs in its manifest only
    summary = decoded.summary
    if split is not None:
        summary.add(split.helper.summary)
    return ImportResult(
        snapshot_id="",  # known after the publish
        documents=len(document_paths),
        written=written_count,
        buried=hidden_count,
        unchanged=len(document_paths) - written_count,
        occurrences=summary.occurrences,
        demoted=summary.demoted,
        repaired=summary.repaired,
        unresolved=summary.unresolved,
        rejected=tuple(summary.rejected),
    )


def _decode_index(task: _ImportTask, file: IndexFile, split: SplitIndex | None) -> DecodedIndex:
    return DecodedIndex(
        file,
        task.source.read,
        prefix=task.source.prefix,
        store_defines=parallel_read.defined_elsewhere_check(task.view.scip, task.context),
        naming=task.source.naming,
        document_numbers=split.own_documents if split else None,
        exchange_defined=split.helper.exchange_defined if split else None,
    )


def _write_changed(task: _ImportTask, documents: Iterable[StorableDocument], writer: ScipWriter) -> set[str]:
    """Write the documents that differ from the stored ones. Returns the paths of all documents in scope."""
    source, key = task.source, task.context
    document_paths: set[str] = set()
    for document in documents:
        packed = document.packed
        if len(document_paths) % _DOCUMENTS_PER_CHECK == 0:
            task.confirm()
        stored = task.view.scip.find_document(packed.path)
        # A stored document of this context is always compared, even outside the scope: its symbols may resolve
        # differently now, and its file would wrongly count as clean.
        belongs_here = stored is not None and stored.context == key
        if not belongs_here and not refresh_scope.selects(source.scope, packed.path):
            continue
        document_paths.add(packed.path)
        blob = source.blobs[packed.path]
        if stored is not None and (stored.blob, stored.context, stored.digest) == (blob, key, packed.digest):
            continue
        record = task.view.record(packed.path)
        syntax = record.interface_hash if record is not None and record.content == blob else ""
        writer.add(document, blob=blob, context=key, syntax=syntax)
    if not document_paths and source.scope is None:
        raise ExactFactsError("the index holds no document of a tracked file", diagnosis="no_documents")
    return document_paths


def _hide_removed(task: _ImportTask, document_paths: set[str], writer: ScipWriter) -> int:
    """Write a tombstone for each stored document of the context, within the scope, that this run does not give."""
    removed_paths = [
        header.path
        for header in task.view.scip.documents()
        if header.context == task.context
        and header.path not in document_paths
        and refresh_scope.selects(task.source.scope, header.path)
    ]
    for path in sorted(removed_paths):
        writer.add_tombstone(path, task.context)
    return len(removed_paths)


# -- publishing ----------------------------------------------------------------------------------------


def stage(
    active: SnapshotView, folder: Path, writer: SegmentWriter, snapshot_id: str
) -> publish.StagedSnapshot:
    """Stage what a snapshot needs beside its documents: a table with the completion marker, and copies of the parent's
    lexical index and overlay.
    """
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
    """Composes the active manifest with one more segment; `entries` describe the imports of all contexts."""

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
