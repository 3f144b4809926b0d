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

SCHEMA = "schema_mismatch"
COUNT = "count_drift"


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
    name = table.relative_to(layout.base).as_posix()
    opened = chunk_table.open_table(table)
    flaw = chunk_table.find_schema_flaw(opened.schema, dimension)
    if flaw:
        yield Flaw(SCHEMA, f"table {table.name} {flaw}", name)
        return
    rows = opened.count_rows() - (chunk_table.count_markers(opened) if markers is None else markers)
    yield from _compare(segment, "rows", segment.rows, "its table", rows, name)
    yield from _compare_facts(layout, segment)
    if segment.tombstones is not None:
        graves = segment.tombstones
        held = tombstones.count(layout.tombstones(segment.id))
        yield from _compare(segment, "tombstones", graves.count, "its file", held, graves.artifact.path)


def find_facts_flaws(layout: Layout, manifest: Manifest) -> Iterator[Flaw]:
    """As `find_flaws`, of every segment and without its table: for bytes that were checked where they were made."""
    for segment in manifest.segments:
        yield from _compare_facts(layout, segment)


def find_impossible_counts(manifest: Manifest) -> Iterator[str]:
    """Totals that no choice of live rows could give."""
    counts = manifest.counts
    listed = counts.files_indexed + sum(counts.skipped.values())
    held = (sum(one.rows for one in manifest.segments), sum(one.files for one in manifest.segments))
    for name, said, most in (("rows", counts.chunks_indexed, held[0]), ("files", listed, held[1])):
        if most < said:
            yield f"segments hold {most} {name}, the manifest counts {said}"


def _compare_facts(layout: Layout, segment: Segment) -> Iterator[Flaw]:
    facts = Facts(layout.facts(segment.id))
    try:
        files, rows = facts.totals()
    finally:
        facts.close()
    name = layout.facts(segment.id).relative_to(layout.base).as_posix()
    yield from _compare(segment, "files", segment.files, "its facts", files, name)
    yield from _compare(segment, "rows", segment.rows, "its facts", rows, name)


def _compare(segment: Segment, what: str, said: int, where: str, held: int, artifact: str) -> Iterator[Flaw]:
    if said != held:
        message = f"the manifest counts {said} {what} in segment {segment.id}, but {held} are in {where}"
        yield Flaw(COUNT, message, artifact)
