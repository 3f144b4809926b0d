"""Many scip files become one: the documents that count are taken as stored, symbols are gathered anew."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gitindex.scip import fact_postings
from gitindex.scip.symbol_grammar import hash64, tail_name
from gitindex.segment.scipfacts import Ready, ScipFacts, ScipFile, ScipWriter


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

    from gitindex.segment.scipsymbols import Symbols

    writer = ScipWriter(target, segment_id)
    named: dict[int, bytes] = {}
    occurrences = 0
    external: dict[int, bytes] = {}
    for facts, documents in sources:
        if not documents:
            continue
        for head in documents:
            packed = facts.packed(head)
            file = fact_postings.open_file(packed.occurrences)
            rows = np.array(list(fact_postings.occurrences_of(file)), np.int32).reshape(-1, 6)
            positions = rows[rows[:, 0] < len(file.hashes)][:, [0, 1, 2, 5]]
            ready = Ready(packed, np.array(file.hashes, np.int64), positions)
            writer.add(ready, blob=head.blob, context=head.context, syntax=head.syntax)
            occurrences += file.total
        named.update(facts.names())
        external.update(facts.externals())
    for head in buried:
        writer.bury(head.path, head.context)
    keys = [hash64(tail_name(text)) for text in named.values()]
    hashes = np.fromiter(named, np.int64, len(named))
    symbols = Symbols(hashes, list(named.values()), np.array(keys, np.int64))
    writer.finish([symbols], external.items())
    return writer.files, occurrences
