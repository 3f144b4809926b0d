"""Many scip files become one: the documents that count are taken as stored, symbols are gathered anew."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gitindex.scip import postings
from gitindex.segment.scipfacts import ScipFacts, ScipFile, ScipWriter


def merge(
    target: Path,
    segment_id: str,
    sources: Iterable[tuple[ScipFacts, list[ScipFile]]],
    buried: Iterable[ScipFile] = (),
) -> tuple[int, int]:
    """Write `target` from the listed documents; how many documents and occurrences it holds.

    `buried`: paths whose documents in older segments must stay hidden though none replaces them.
    """
    import numpy as np

    writer = ScipWriter(target, segment_id)
    named: dict[int, bytes] = {}
    external: dict[int, bytes] = {}
    for facts, documents in sources:
        if not documents:
            continue
        for head in documents:
            packed = facts.packed(head)
            file = postings.open_file(packed.occurrences)
            rows = np.array(list(postings.occurrences_of(file)), np.int32).reshape(-1, 6)
            hashes = np.array(file.hashes, np.int64)
            writer.add(packed, hashes, rows, blob=head.blob, context=head.context, syntax=head.syntax)
        named.update(facts.names())
        external.update(facts.externals())
    for head in buried:
        writer.bury(head.path, head.context)
    writer.finish(named.items(), external.items())
    return writer.files, writer.occurrences
