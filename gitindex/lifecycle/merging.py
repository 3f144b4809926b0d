"""Writes runs of neighbouring segments anew: live rows, facts, exact documents and the tombstones still needed (SN-8).

Segments before a run may still hold rows of paths that the run replaced or deleted: only those tombstones are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gitindex.extract.words import terms_and_compounds
from gitindex.lifecycle.tiers import SegmentUsage
from gitindex.model.rows import Chunk
from gitindex.model.settings import MAX_SYNC_BYTES
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.segment import lexical_index, scipmerge
from gitindex.segment.lexical_index import LexicalWriter
from gitindex.segment.writer import SegmentWriter
from gitindex.view.snapshot import EXACT_KIND, SnapshotView, exact_artifacts


class DocumentCounts(NamedTuple):
    """The exact documents of a segment, and how many of them are live."""

    total: int = 0
    live: int = 0


@dataclass(frozen=True, slots=True)
class MergedRun:
    """The new segments of a run, complete except for the marker of the table and the indexes of the facts."""

    run: range
    kind: str
    writers: tuple[SegmentWriter, ...]
    tombstones: tuple[tuple[str, str], ...]  # path, reason


def measure_segments(view: SnapshotView) -> list[SegmentUsage]:
    """What of every segment is live, from its records and documents."""
    documents = _count_documents(view)
    return [
        _measure_segment(view, index, documents.get(index, DocumentCounts()))
        for index in range(len(view.manifest.segments))
    ]


def merge(view: SnapshotView, runs: Sequence[range], folder: Path, snapshot_id: str) -> list[MergedRun]:
    """Write each run below `folder`; the new segments of all runs are numbered consecutively."""
    merged_runs: list[MergedRun] = []
    for run in runs:
        first_number = sum(len(merged_run.writers) for merged_run in merged_runs)
        writers = tuple(_write_run(view, run, folder, snapshot_id, first_number))
        last_id = writers[-1].id
        _merge_exact(view, run, folder / last_id, last_id)
        tombstones = tuple(_find_needed_tombstones(view, run, runs))
        merged_runs.append(MergedRun(run, _segment_kind(view, run), writers, tombstones))
    return merged_runs


def rebuild_lexical(view: SnapshotView, target: Path) -> None:
    """Build the lexical index of the live view from its tables."""
    lexical_index.create(target)
    writer = LexicalWriter(target, bulk=True)
    for index in range(len(view.manifest.segments)):
        for path, language, chunk in _read_chunks(view, index):
            writer.add(path, language, [chunk])
    writer.finish()


# -- usage ---------------------------------------------------------------------------------------------


def _measure_segment(view: SnapshotView, index: int, documents: DocumentCounts) -> SegmentUsage:
    segment, live_records = view.manifest.segments[index], view.segment_records(index)
    own_tombstones = segment.tombstones.count if segment.tombstones else 0
    return SegmentUsage(
        size=sum(artifact.size_bytes for artifact in segment.artifacts),
        rows=segment.rows,
        dead_rows=segment.rows - sum(record.chunks for record in live_records),
        documents=documents.total,
        dead_documents=documents.total - documents.live,
        tombstones=own_tombstones + segment.files - len(live_records),
    )


def _count_documents(view: SnapshotView) -> dict[int, DocumentCounts]:
    """Index of a segment → its exact documents."""
    counts: dict[int, DocumentCounts] = {}
    sources = zip(_exact_segment_indexes(view), view.scip.merge_sources(), strict=True)
    for index, (facts, visible) in sources:
        live = sum(view.record(header.path) is not None for header in visible)
        counts[index] = DocumentCounts(total=sum(1 for _ in facts.documents()), live=live)
    return counts


def _exact_segment_indexes(view: SnapshotView) -> list[int]:
    """The segments that have a scip file, in the order in which `view.scip` numbers those files."""
    return [index for index, segment in enumerate(view.manifest.segments) if exact_artifacts(segment)]


# -- runs ----------------------------------------------------------------------------------------------


def _write_run(
    view: SnapshotView, run: range, folder: Path, snapshot_id: str, number: int
) -> Iterator[SegmentWriter]:
    """Write the live rows of the run into as few new segments as the size limit allows."""
    writer, bytes_left = None, 0
    for index in run:
        live_records = view.segment_records(index)
        size = sum(record.size for record in live_records)
        if writer is None or bytes_left < size:
            if writer is not None:
                yield writer
                number += 1
            name = f"seg_{snapshot_id}_{number}"
            writer = SegmentWriter(folder / name, name, view.manifest.dimension, CHUNKER_VERSION)
            bytes_left = MAX_SYNC_BYTES
        bytes_left -= size
        for batch in view.chunk_batches(index):
            writer.add_rows(batch)
        writer.copy_facts(view.facts_path(index), live_records)
    if writer is not None:
        yield writer


def _find_needed_tombstones(
    view: SnapshotView, run: range, runs: Sequence[range]
) -> Iterator[tuple[str, str]]:
    """Tombstones (path, reason) that still hide rows: of a segment before the run that no run merges."""
    remaining = [index for index in range(run.start) if not any(index in other for other in runs)]
    if not remaining:
        return
    present = {record.path for index in run for record in view.segment_records(index)}
    for path in view.find_tombstoned_paths(run):
        if any(view.facts(index).record(path) is not None for index in remaining):
            yield path, "replace" if path in present else "delete"


def _merge_exact(view: SnapshotView, run: range, folder: Path, segment_id: str) -> None:
    """Merge the documents of live paths into one scip file of the newest segment of the run (SE-7)."""
    numbers = [number for number, index in enumerate(_exact_segment_indexes(view)) if index in run]
    if not numbers:
        return
    number_range = range(numbers[0], numbers[-1] + 1)
    sources = [
        (facts, [header for header in visible if view.record(header.path) is not None])
        for number, (facts, visible) in enumerate(view.scip.merge_sources())
        if number in number_range
    ]
    live_paths = {header.path for _, documents in sources for header in documents}
    tombstones = [
        header for header in view.scip.find_hiding_documents(number_range) if header.path not in live_paths
    ]
    if live_paths or tombstones:
        scipmerge.merge(folder / "scip.sqlite", segment_id, sources, tombstones)


def _segment_kind(view: SnapshotView, run: range) -> str:
    if all(view.manifest.segments[index].kind == EXACT_KIND for index in run):
        return EXACT_KIND
    return "delta" if run.start else "base"


def _read_chunks(view: SnapshotView, index: int) -> Iterator[tuple[str, str, Chunk]]:
    """Path, language and chunk of every live row of a segment; computes the terms anew, as tables do not hold them."""
    for batch in view.chunk_batches(index):
        rows = batch.to_pylist()
        words = terms_and_compounds([row["text"] for row in rows])
        for row, (terms, idents) in zip(rows, words, strict=True):
            chunk = Chunk(
                ordinal=row["ordinal"],
                kind=row["kind"],
                text=row["text"],
                chunk_hash=row["chunk_hash"].hex(),
                start_line=row["start_line"],
                end_line=row["end_line"],
                byte_start=row["byte_start"],
                byte_end=row["byte_end"],
                symbol=row["symbol"],
                symbol_kind=row["symbol_kind"],
                names=row["names"],
                terms=terms,
                idents=idents,
            )
            yield row["path_key"], row["language"], chunk
