"""Merges scip files: copies the visible documents as stored, and builds the symbol tables anew."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gitindex.scip import fact_postings
from gitindex.scip.symbol_grammar import hash64, parse_last_name
from gitindex.segment.scipfacts import (
    POSITION_COLUMNS,
    DocumentHeader,
    ScipFacts,
    ScipWriter,
    StorableDocument,
)


def merge(
    target: Path,
    segment_id: str,
    sources: Iterable[tuple[ScipFacts, list[DocumentHeader]]],
    hidden_documents: Iterable[DocumentHeader] = (),
) -> tuple[int, int]:
    """Write `target` from the listed documents; returns how many documents and occurrences it holds.

    `hidden_documents` get a tombstone: their older documents must stay hidden, though no document replaces them.
    """
    import numpy as np

    from gitindex.segment.scipsymbols import SymbolColumns

    writer = ScipWriter(target, segment_id)
    names_by_hash: dict[int, bytes] = {}
    occurrences = 0
    external_hovers: dict[int, bytes] = {}
    for facts, documents in sources:
        if not documents:
            continue
        for header in documents:
            packed = facts.read_packed(header)
            file_blob = fact_postings.open_file(packed.occurrences)
            rows = np.array(list(fact_postings.unpack_occurrences(file_blob)), np.int32).reshape(-1, 6)
            is_global = rows[:, 0] < len(file_blob.hashes)  # the rest are locals
            positions = rows[is_global][:, POSITION_COLUMNS]
            storable = StorableDocument(packed, np.array(file_blob.hashes, np.int64), positions)
            writer.add(storable, blob=header.blob, context=header.context, syntax=header.syntax)
            occurrences += file_blob.total
        names_by_hash.update(facts.names())
        external_hovers.update(facts.external_hovers())
    for header in hidden_documents:
        writer.add_tombstone(header.path, header.context)
    keys = [hash64(parse_last_name(text)) for text in names_by_hash.values()]
    hashes = np.fromiter(names_by_hash, np.int64, len(names_by_hash))
    symbols = SymbolColumns(hashes, list(names_by_hash.values()), np.array(keys, np.int64))
    writer.finish([symbols], external_hovers.items())
    return writer.files, occurrences
