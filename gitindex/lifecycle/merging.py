"""Writing runs of segments anew: live rows, facts and exact documents, and the tombstones still needed (SN-8).

A run takes the place of neighbours. What lies before it may still hold rows of paths that the run replaced or
deleted, so those tombstones stay; all others have done their work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitindex.extract.words import terms_and_compounds
from gitindex.lifecycle.tiers import SegmentUsage
from gitindex.model.manifest import Segment
from gitindex.model.rows import Chunk
from gitindex.model.settings import MAX_SYNC_BYTES
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.segment import lexical_index, scipmerge
from gitindex.segment.lexical_index import LexicalWriter
from gitindex.segment.writer import SegmentWriter
from gitindex.view.snapshot import EXACT_KIND, SnapshotView


@dataclass(frozen=True, slots=True)
class MergedRun:
    """What takes the place of a run: finished but for its table's marker and its facts' indexes."""

    run: range
    kind: str
    writers: tuple[SegmentWriter, ...]
    tombstones: tuple[tuple[str, str], ...]


def measure_segments(view: SnapshotView) -> list[SegmentUsage]:
    """Every segment's weight, from its live records and documents."""
    documents = _count_documents(view)
    return [
        _measure_segment(view, index, documents.get(index, (0, 0)))
        for index in range(len(view.manifest.segments))
    ]


def merge(view: SnapshotView, runs: Sequence[range], folder: Path, snapshot_id: str) -> list[MergedRun]:
    """Write each run below `folder`; segments are numbered through."""
    merged_runs: list[MergedRun] = []
    for run in runs:
        first_number = sum(len(merged_run.writers) for merged_run in merged_runs)
        writers = tuple(_write_run(view, run, folder, snapshot_id, first_number))
        last = writers[-1].id
        _merge_exact(view, run, folder / last, last)
        merged_runs.append(
            MergedRun(run, _segment_kind(view, run), writers, tuple(_find_needed_tombstones(view, run, runs)))
        )
    return merged_runs


def rebuild_lexical(view: SnapshotView, target: Path) -> None:
    """The lexical index of the live view, from its tables."""
    lexical_index.create(target)
    writer = LexicalWriter(target, bulk=True)
    for index in range(len(view.manifest.segments)):
        for path, language, chunk in _read_chunks(view, index):
            writer.add(path, language, [chunk])
    writer.finish()


# -- weights -------------------------------------------------------------------------------------------


def _measure_segment(view: SnapshotView, index: int, documents: tuple[int, int]) -> SegmentUsage:
    segment, live = view.manifest.segments[index], view.segment_records(index)
    own_tombstones = segment.tombstones.count if segment.tombstones else 0
    return SegmentUsage(
        size=sum(artifact.size_bytes for artifact in segment.artifacts),
        rows=segment.rows,
        dead_rows=segment.rows - sum(record.chunks for record in live),
        documents=documents[0],
        dead_documents=documents[0] - documents[1],
        tombstones=own_tombstones + segment.files - len(live),
    )


def _count_documents(view: SnapshotView) -> dict[int, tuple[int, int]]:
    """Segment → exact documents it holds, and how many of them still count."""
    counts: dict[int, tuple[int, int]] = {}
    for index, (facts, documents) in zip(
        _exact_segment_indexes(view), view.scip.merge_sources(), strict=True
    ):
        live = sum(view.record(head.path) is not None for head in documents)
        counts[index] = (sum(1 for _ in facts.documents()), live)
    return counts


def _exact_segment_indexes(view: SnapshotView) -> list[int]:
    """Numbers of the segments that have exact documents, as the view of those counts them."""
    return [index for index, segment in enumerate(view.manifest.segments) if _has_exact_facts(segment)]


def _has_exact_facts(segment: Segment) -> bool:
    return any(artifact.path.endswith("/scip.sqlite") for artifact in segment.artifacts)


# -- runs ----------------------------------------------------------------------------------------------


def _write_run(
    view: SnapshotView, run: range, folder: Path, snapshot_id: str, number: int
) -> Iterator[SegmentWriter]:
    """Live rows of the run in as few new segments as the size limit allows."""
    writer, bytes_left = None, 0
    for index in run:
        live = view.segment_records(index)
        size = sum(record.size for record in live)
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
        writer.copy_facts(view.facts_path(index), live)
    if writer is not None:
        yield writer


def _find_needed_tombstones(
    view: SnapshotView, run: range, runs: Sequence[range]
) -> Iterator[tuple[str, str]]:
    """Tombstones that still hide something: the path is in a segment before the run that stays as it is."""
    remaining = [index for index in range(run.start) if not any(index in other for other in runs)]
    present = {record.path for at in run for record in view.segment_records(at)} if remaining else set()
    for path in view.find_tombstoned_paths(run) if remaining else ():
        if any(view.facts(at).record(path) is not None for at in remaining):
            yield path, "replace" if path in present else "delete"


def _merge_exact(view: SnapshotView, run: range, folder: Path, segment: str) -> None:
    """Documents of live paths move into one file beside the newest segment of the run (SE-7)."""
    numbers = [number for number, index in enumerate(_exact_segment_indexes(view)) if index in run]
    if not numbers:
        return
    number_range = range(numbers[0], numbers[-1] + 1)
    sources = [
        (facts, [head for head in documents if view.record(head.path) is not None])
        for number, (facts, documents) in enumerate(view.scip.merge_sources())
        if number in number_range
    ]
    live_paths = {head.path for _, documents in sources for head in documents}
    tombstones = [
        head for head in view.scip.find_hiding_documents(number_range) if head.path not in live_paths
    ]
    if live_paths or tombstones:
        scipmerge.merge(folder / "scip.sqlite", segment, sources, tombstones)


def _segment_kind(view: SnapshotView, run: range) -> str:
    if all(view.manifest.segments[index].kind == EXACT_KIND for index in run):
        return EXACT_KIND
    return "delta" if run.start else "base"


def _read_chunks(view: SnapshotView, index: int) -> Iterator[tuple[str, str, Chunk]]:
    """Chunks as extraction made them, from the rows of a table."""
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
