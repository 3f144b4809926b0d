"""What a segment really holds, compared with what its manifest says of it (SN-2, SN-10).

Answered from metadata: a table's schema and number of rows, sums over the facts, lines of the tombstones. No chunk row
is read, so a publish can afford it for the segments that it wrote; `health` and `audit` ask it of every segment.
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
    """Differences between a segment and its entry in a manifest whose vectors have `dimension` numbers.

    `markers` is how many of the table's rows are completion markers; None: they are looked for.
    """
    table = layout.table(segment.id)
    table_artifact = table.relative_to(layout.base).as_posix()
    dataset = chunk_table.open_table(table)
    flaw = chunk_table.find_schema_flaw(dataset.schema, dimension)
    if flaw:
        yield Flaw(SCHEMA_MISMATCH, f"table {table.name} {flaw}", table_artifact)
        return
    rows = dataset.count_rows() - (chunk_table.count_markers(dataset) if markers is None else markers)
    yield from _compare_count(segment, "rows", segment.rows, "its table", rows, table_artifact)
    yield from _compare_facts(layout, segment)
    if segment.tombstones is not None:
        declared_tombstones = segment.tombstones
        stored_count = tombstones.count(layout.tombstones(segment.id))
        yield from _compare_count(
            segment,
            "tombstones",
            declared_tombstones.count,
            "its file",
            stored_count,
            declared_tombstones.artifact.path,
        )


def find_facts_flaws(layout: Layout, manifest: Manifest) -> Iterator[Flaw]:
    """As `find_flaws`, of every segment and without its table: for bytes that were checked where they were made."""
    for segment in manifest.segments:
        yield from _compare_facts(layout, segment)


def find_impossible_counts(manifest: Manifest) -> Iterator[str]:
    """Totals that no choice of live rows could give."""
    counts = manifest.counts
    file_count = counts.files_indexed + sum(counts.skipped.values())
    segment_totals = (
        sum(segment.rows for segment in manifest.segments),
        sum(one.files for one in manifest.segments),
    )
    for name, declared, available in (
        ("rows", counts.chunks_indexed, segment_totals[0]),
        ("files", file_count, segment_totals[1]),
    ):
        if available < declared:
            yield f"segments hold {available} {name}, the manifest counts {declared}"


def _compare_facts(layout: Layout, segment: Segment) -> Iterator[Flaw]:
    facts = Facts(layout.facts(segment.id))
    try:
        files, rows = facts.totals()
    finally:
        facts.close()
    name = layout.facts(segment.id).relative_to(layout.base).as_posix()
    yield from _compare_count(segment, "files", segment.files, "its facts", files, name)
    yield from _compare_count(segment, "rows", segment.rows, "its facts", rows, name)


def _compare_count(
    segment: Segment, what: str, declared: int, source: str, actual: int, artifact: str
) -> Iterator[Flaw]:
    if declared != actual:
        message = (
            f"the manifest counts {declared} {what} in segment {segment.id}, but {actual} are in {source}"
        )
        yield Flaw(COUNT_DRIFT, message, artifact)
