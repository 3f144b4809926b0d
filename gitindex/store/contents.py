"""Compares what a segment holds with its entry in the manifest (SN-2, SN-10).

Reads metadata only: a table's schema and row count, sums over the facts, the number of tombstone lines. As no chunk
row is read, every publish can check the segments that it wrote; `health` and `audit` check every segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gitindex.model.manifest import Manifest, Segment
from gitindex.segment import chunk_table, tombstones
from gitindex.segment.facts import Facts
from gitindex.store.layout import Layout

SCHEMA_MISMATCH = "schema_mismatch"
COUNT_DRIFT = "count_drift"


class Flaw(NamedTuple):
    code: str
    message: str
    artifact: str


def find_flaws(
    layout: Layout, segment: Segment, dimension: int, markers: int | None = None
) -> Iterator[Flaw]:
    """Differences between a segment and its manifest entry; `dimension` is that of the snapshot's vectors.

    `markers` is how many of the table's rows are completion markers; None: count them.
    """
    table = layout.table(segment.id)
    table_artifact = table.relative_to(layout.base).as_posix()
    dataset = chunk_table.open_table(table)
    flaw = chunk_table.find_schema_flaw(dataset.schema, dimension)
    if flaw:
        yield Flaw(SCHEMA_MISMATCH, f"table {table.name} {flaw}", table_artifact)
        return
    rows = dataset.count_rows() - (chunk_table.count_markers(dataset) if markers is None else markers)
    yield from _compare_count(
        segment, "rows", declared=segment.rows, actual=rows, source="its table", artifact=table_artifact
    )
    yield from _compare_facts(layout, segment)
    if segment.tombstones is not None:
        yield from _compare_count(
            segment,
            "tombstones",
            declared=segment.tombstones.count,
            actual=tombstones.count(layout.tombstones(segment.id)),
            source="its file",
            artifact=segment.tombstones.artifact.path,
        )


def find_facts_flaws(layout: Layout, manifest: Manifest) -> Iterator[Flaw]:
    """As `find_flaws` for every segment, but without the tables: their publisher checked the same bytes."""
    for segment in manifest.segments:
        yield from _compare_facts(layout, segment)


def find_impossible_counts(manifest: Manifest) -> Iterator[str]:
    """Messages about totals that exceed what all segments hold together."""
    counts = manifest.counts
    file_count = counts.files_indexed + sum(counts.skipped.values())
    for name, declared, available in (
        ("rows", counts.chunks_indexed, sum(segment.rows for segment in manifest.segments)),
        ("files", file_count, sum(segment.files for segment in manifest.segments)),
    ):
        if available < declared:
            yield f"segments hold {available} {name}, the manifest counts {declared}"


def _compare_facts(layout: Layout, segment: Segment) -> Iterator[Flaw]:
    facts = Facts(layout.facts(segment.id))
    try:
        files, rows = facts.totals()
    finally:
        facts.close()
    artifact = layout.facts(segment.id).relative_to(layout.base).as_posix()
    for what, declared, actual in (("files", segment.files, files), ("rows", segment.rows, rows)):
        yield from _compare_count(
            segment, what, declared=declared, actual=actual, source="its facts", artifact=artifact
        )


def _compare_count(
    segment: Segment, what: str, *, declared: int, actual: int, source: str, artifact: str
) -> Iterator[Flaw]:
    if declared != actual:
        message = (
            f"the manifest counts {declared} {what} in segment {segment.id}, but {actual} are in {source}"
        )
        yield Flaw(COUNT_DRIFT, message, artifact)
