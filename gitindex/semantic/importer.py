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
from gitindex.semantic import parallel_read
from gitindex.semantic import refresh_scope as lattice
from gitindex.semantic.contexts import Context
from gitindex.semantic.decode import Decoded, ReadBlob
from gitindex.semantic.describe import Description
from gitindex.semantic.package_names import NAMELESS, Naming
from gitindex.semantic.parallel_read import HelperLost, Order, Team
from gitindex.semantic.refresh_scope import Scope
from gitindex.store import clone, lease, manifests, publish, state_file, steps
from gitindex.store.layout import Layout
from gitindex.view.snapshot import EXACT_KIND, SnapshotView, open_active

_TRIES = 3
_CHECK_EVERY = 200  # documents between two looks at whether anybody still wants them


@dataclass(frozen=True, slots=True)
class Source:
    """What is imported: an index file, the blobs it is about, and how much of it."""

    file: Path
    prefix: str
    context: Context
    blobs: Mapping[str, str]  # path → blob id
    read: ReadBlob
    scope: Scope | None
    about: Mapping[str, Any]  # of the manifest's entry: tool, version, commit, …
    naming: Naming = NAMELESS
    repo: Repo | None = None  # where a helper process finds the blobs; without it there is none


@dataclass(frozen=True, slots=True)
class Imported:
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
    layout: Layout, source: Source, confirm: Callable[[], None], *, wait: float = 30.0
) -> Imported:
    """Publish what changed. `confirm` raises when the output is no longer wanted; it is asked last before the swap.

    Raises SemanticError for an index of which nothing can be kept, and what a publish raises.
    """
    for _ in range(_TRIES):
        done = _try(layout, source, confirm, wait)
        if done is not None:
            return done
    raise LeaseHeld("other writers keep changing the exact facts", hint="gitindex refresh --wait")


def context_key(context: Context) -> str:
    """How documents name their context: what stays when its configuration changes."""
    return f"{context.language}:{context.root}"


def _try(layout: Layout, source: Source, confirm: Callable[[], None], wait: float) -> Imported | None:
    with ExitStack() as stack:
        view = stack.enter_context(_reopen(layout))
        txn = ulid()
        folder = stack.enter_context(publish.open_transaction(layout, txn))
        name = f"seg_{txn}_0"

        @cache
        def writer() -> SegmentWriter:
            return SegmentWriter(folder / name, name, view.manifest.dimension, CHUNKER_VERSION)

        with pause_gc():
            counted = _write(view, source, folder / name, name, confirm, writer)
        steps.reach("import.lease")
        held = stack.enter_context(lease.hold(layout, txn, wait=wait))
        now = stack.enter_context(_reopen(layout))
        if _documents_of(now.manifest) != _documents_of(view.manifest):
            return None
        snapshot_id = manifests.next_id(layout, txn)
        staged = stage(now, folder, writer(), snapshot_id)
        entries = _entries(now.manifest, _entry(source, counted))
        compose = composer(now.manifest, snapshot_id, held.epoch, entries)
        publish.publish(layout, held, snapshot_id, staged, now.verifier, compose, confirm)
        return replace(counted, snapshot_id=snapshot_id)


def _reopen(layout: Layout) -> SnapshotView:
    view = open_active(layout)
    if view is None:
        raise StoreCorrupt(f"store {layout.id} has no snapshot", hint="gitindex sync")
    return view


def _documents_of(manifest: Manifest) -> list[str]:
    artifacts = (artifact for segment in manifest.segments for artifact in segment.artifacts)
    return [artifact.sha256 for artifact in artifacts if artifact.path.endswith("/scip.sqlite")]


# -- documents -----------------------------------------------------------------------------------------


def _write(
    view: SnapshotView,
    source: Source,
    folder: Path,
    segment: str,
    confirm: Callable[[], None],
    prepare: Callable[[], object],
) -> Imported:
    steps.reach("import.decode")
    target = folder / "scip.sqlite"
    try:
        with IndexFile(source.file) as file, _assistance(view, source, file) as team:
            prepare()
            chunk_table.load()  # while the helper starts
            return _write_with(team, file, view, source, target, segment, confirm)
    except HelperLost:
        target.unlink()
    with IndexFile(source.file) as file:
        return _write_with(None, file, view, source, target, segment, confirm)


@contextmanager
def _assistance(view: SnapshotView, source: Source, file: IndexFile) -> Iterator[Team | None]:
    """A helper for a large file where there is a second core."""
    if source.repo is None or not parallel_read.worth_it(source.file):
        yield None
        return
    with parallel_read.helper() as helper:
        ours, theirs = parallel_read.halves(file, source.prefix)
        stored, own = tuple(view.scip.paths), context_key(source.context)
        blobs = dict(source.blobs)
        helper.begin(
            Order(source.file, source.prefix, source.naming, source.repo, blobs, stored, own, tuple(theirs))
        )
        yield Team(helper, ours)


def _write_with(
    team: Team | None,
    file: IndexFile,
    view: SnapshotView,
    source: Source,
    target: Path,
    segment: str,
    confirm: Callable[[], None],
) -> Imported:
    writer = ScipWriter(target, segment)
    try:
        decoded = _decoded(team, view, source, file)
        named = [decoded.named()]  # before the helper's documents: nothing is left to wait for after them
        parts = [scipfacts.pack_documents(decoded.documents()), *([team.helper.ready()] if team else [])]
        seen = _write_changed(view, source, chain.from_iterable(parts), writer, confirm)
        written = writer.files
        buried = _bury_lost(view, source, seen, writer)
        steps.reach("import.write")
        externals = ((value, _external(told)) for value, _, told in decoded.externals())
        if team is not None:
            named.append(team.helper.named)
        writer.finish(named, externals)
    except BaseException:
        writer.abandon()
        raise
    if not written and not buried:
        target.unlink()  # nothing changed: only the manifest says so
    summary = decoded.summary
    if team is not None:
        summary.add(team.helper.summary)
    counts = (summary.occurrences, summary.demoted, summary.repaired, summary.unresolved)
    return Imported("", len(seen), written, buried, len(seen) - written, *counts, tuple(summary.rejected))


def _decoded(team: Team | None, view: SnapshotView, source: Source, file: IndexFile) -> Decoded:
    known = parallel_read.known_elsewhere(view.scip, context_key(source.context))
    only, exchange = (team.ours, team.helper.exchange) if team is not None else (None, None)
    return Decoded(
        file,
        source.read,
        prefix=source.prefix,
        known=known,
        naming=source.naming,
        only=only,
        exchange=exchange,
    )


def _write_changed(
    view: SnapshotView,
    source: Source,
    ready: Iterable[StorableDocument],
    writer: ScipWriter,
    confirm: Callable[[], None],
) -> set[str]:
    """Write the documents that differ from the stored ones; the paths that have a document."""
    seen: set[str] = set()
    key = context_key(source.context)
    for document in ready:
        packed = document.packed
        if len(seen) % _CHECK_EVERY == 0:
            confirm()
        known = view.scip.find_document(packed.path)
        # What is stored already may mean something else now, because of what is in scope: `clean` would lie of it.
        stored = known is not None and known.context == key
        if not stored and not lattice.selects(source.scope, packed.path):
            continue
        seen.add(packed.path)
        blob = source.blobs[packed.path]
        if known is not None and (known.blob, known.context, known.digest) == (blob, key, packed.digest):
            continue
        record = view.record(packed.path)
        syntax = record.interface_hash if record is not None and record.content == blob else ""
        writer.add(document, blob=blob, context=key, syntax=syntax)
    if not seen and source.scope is None:
        raise ExactFactsError("the index holds no document of a tracked file", diagnosis="no_documents")
    return seen


def _bury_lost(view: SnapshotView, source: Source, seen: set[str], writer: ScipWriter) -> int:
    """Hide documents of the context that this run no longer gives."""
    key = context_key(source.context)
    lost = [
        head.path
        for head in view.scip.documents()
        if head.context == key and head.path not in seen and lattice.selects(source.scope, head.path)
    ]
    for path in sorted(lost):
        writer.add_tombstone(path, key)
    return len(lost)


def _external(told: Description) -> bytes:
    return "\0".join((told.kind, told.name, told.signature, told.documentation[:600])).encode()


# -- publishing ----------------------------------------------------------------------------------------


def stage(now: SnapshotView, folder: Path, writer: SegmentWriter, snapshot_id: str) -> publish.StagedSnapshot:
    """Beside the documents: a table with the marker, the parent's words and overlay."""
    payload = dict(now.read_marker() or {}) | {"runId": snapshot_id, "completedAt": state_file.now()}
    steps.reach("publish.chunks")
    writer.write_table(payload)
    steps.reach("publish.facts")
    written: WrittenSegment = writer.write_facts(())
    steps.reach("publish.lexical")
    linked = clone.clone_lexical(now.manifest, now.verifier, folder / "lexical")
    overlay.write(folder / "overlay.jsonl", now.overlay().values())
    return publish.StagedSnapshot(folder, (written,), EXACT_KIND, linked)


def _entry(source: Source, counted: Imported) -> dict[str, Any]:
    context = source.context
    return {
        "context": context.id,
        "language": context.language,
        "root": context.root,
        "config_hash": context.config_hash,
        "files": counted.documents,
        "occurrences": counted.occurrences,
        "demoted": counted.demoted,
        "unresolved": counted.unresolved,
        **source.about,
    }


Entries = tuple[Mapping[str, Any], ...]


def _entries(now: Manifest, entry: Mapping[str, Any]) -> Entries:
    place = (entry["language"], entry["root"])
    kept = [item for item in now.semantic if (item["language"], item["root"]) != place]
    return tuple(sorted([*kept, entry], key=lambda item: (item["language"], item["root"])))


def composer(now: Manifest, txn: str, epoch: int, entries: Entries) -> publish.ComposeManifest:
    """The active manifest with one more segment; `entries` say what was imported."""

    def compose(segments: tuple[Segment, ...], words: tuple[Artifact, ...], shown: Artifact) -> Manifest:
        return replace(
            now,
            snapshot_id=txn,
            parent_snapshot_id=now.snapshot_id,
            created_at=state_file.now(),
            lease_epoch=epoch,
            segments=(*now.segments, *segments),
            lexical=words,
            overlay=shown,
            counts=replace(now.counts, tombstones_added=0),
            timings_ms={name: ms for name, ms in now.timings_ms.items() if name == "total"},
            origin=now.origin.amend(),
            semantic=entries,
        )

    return compose
