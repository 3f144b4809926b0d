"""The first pass over a SCIP file: locates every occurrence in its text and compares the text with the symbol.

Documents are processed in batches: for one small document the calls of numpy cost more than the work. Of each document
a `DocumentPart` is kept: a few small integers per occurrence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip import schema
from gitindex.scip.placement import PlacedRanges, TextBatch
from gitindex.scip.positions import PositionRules
from gitindex.scip.ranges import Ints
from gitindex.semantic.agreement import Aliases, agrees_anywhere, is_renamed_in_file
from gitindex.semantic.interning import Interner
from gitindex.semantic.occurrences import OccurrenceColumns, OccurrenceReader

BATCH_OCCURRENCES = 50_000
_BATCH_BYTES = 16 * 1024 * 1024
_MAX_CACHED_TEXT = 200  # bytes
# The unit of columns where a document does not name it.
_RULES = {
    "scip-python": PositionRules(schema.UTF16, bom_is_column=True),
    "scip-typescript": PositionRules(schema.UTF16, unicode_breaks=True),
    "scip-java": PositionRules(schema.UTF16),
    "scip-dotnet": PositionRules(schema.UTF16),
    "scip-go": PositionRules(schema.UTF8),
    "scip-clang": PositionRules(schema.UTF8),
    "rust-analyzer": PositionRules(schema.UTF8),
}

Int32Array = npt.NDArray[np.int32]
ROLES = 4  # column of `DocumentPart.rows`


class Contradiction(NamedTuple):
    """An occurrence whose text contradicts its symbol."""

    position: int  # among the occurrences of the batch, or of the document
    text: bytes


class DocumentPart(NamedTuple):
    """One document after the first pass."""

    number: int  # of the document within the file
    ids: Int32Array  # interned symbols, one per occurrence
    rows: Int32Array  # line, column, end_line, end_column, roles: one row per occurrence
    defined: Int32Array  # positions of definitions within ids
    enclosing: Int32Array  # one row of four per definition; 0 where unknown
    contradicted: list[Contradiction]


class _QueuedDocument(NamedTuple):
    path: str
    number: int
    occurrences: list[bytes]
    data: bytes
    rules: PositionRules


class _Batch(NamedTuple):
    """The occurrences of the queued documents, as parallel arrays."""

    queue: list[_QueuedDocument]
    owner: Ints  # which of the queued documents
    ids: Int32Array  # interned symbols
    rows: Int32Array  # as in `DocumentPart`
    keep: npt.NDArray[np.bool_]  # False: outside the text, or without a symbol


class FirstPass:
    def __init__(self, tool: str) -> None:
        self.interner = Interner()
        self._reader = OccurrenceReader(self.interner)
        self.parts: dict[str, list[DocumentPart]] = {}
        self.out_of_range = 0
        self._rules = _RULES.get(tool, PositionRules(schema.UTF8))
        self._queue: list[_QueuedDocument] = []
        self._queued_weight = 0
        self._agreement_cache: dict[tuple[int, bytes], bool] = {}

    def add(self, path: str, number: int, message: Any, data: bytes) -> None:
        rules, encoding = self._rules, message.position_encoding
        if encoding:
            rules = PositionRules(encoding, rules.unicode_breaks, rules.bom_is_column)
        occurrences = list(message.occurrences)
        self._queue.append(_QueuedDocument(path, number, occurrences, data, rules))
        self._queued_weight += max(len(occurrences), len(data) * BATCH_OCCURRENCES // _BATCH_BYTES)
        if self._queued_weight >= BATCH_OCCURRENCES:
            self.flush()

    def flush(self) -> None:
        """Process the queued documents; must be called once after the last document."""
        queue, self._queue, self._queued_weight = self._queue, [], 0
        if not queue:
            return
        messages = [occurrence for item in queue for occurrence in item.occurrences]
        counts = [len(item.occurrences) for item in queue]
        owner = np.repeat(np.arange(len(queue)), counts)
        sources = TextBatch([(item.data, item.rules) for item in queue])
        columns = self._reader.read(messages)
        ids, roles = columns.ids, columns.roles
        placed = sources.place_ranges(columns.ranges, owner)
        rows = np.stack((*_positions(placed), roles), axis=1).astype(np.int32)
        keep = placed.in_text & (ids != Interner.EMPTY)
        self.out_of_range += int(len(keep) - placed.in_text.sum())
        batch = _Batch(queue, owner, ids, rows, keep)
        kept_definitions = keep[columns.defined]
        defined = columns.defined[kept_definitions]
        enclosing = _place_enclosing(sources, columns, owner)[kept_definitions]
        contradictions = self._find_contradictions(batch, sources.data, placed)
        self._split_by_document(batch, defined, enclosing, contradictions)

    def _find_contradictions(self, batch: _Batch, data: bytes, placed: PlacedRanges) -> list[Contradiction]:
        """Global occurrences whose text contradicts their symbol; `placed` are the ranges within `data`."""
        positions = np.flatnonzero(batch.keep & (batch.ids >= 0))
        names = self.interner.names
        spans = zip(
            positions.tolist(),
            batch.ids[positions].tolist(),
            placed.start[positions].tolist(),
            placed.end[positions].tolist(),
            strict=True,
        )
        # Most texts are the name of their symbol. This loop runs once per occurrence: it must stay small.
        differing = [
            (position, symbol, data[start:end])
            for position, symbol, start, end in spans
            if data[start:end] != names[symbol]
        ]
        aliases: dict[int, Aliases] = {}
        verdicts: dict[tuple[int, int, bytes], bool] = {}
        contradictions = []
        for position, symbol, text in differing:
            if self._agrees_anywhere(symbol, text):
                continue
            document = int(batch.owner[position])
            key = (document, symbol, text)
            if key not in verdicts:
                if document not in aliases:
                    aliases[document] = Aliases(batch.queue[document].data)
                verdicts[key] = self._is_renamed(symbol, text, aliases[document])
            if not verdicts[key]:
                contradictions.append(Contradiction(position, text))
        return contradictions

    def _is_renamed(self, number: int, text: bytes, aliases: Aliases) -> bool:
        last_descriptor = self.interner.last_descriptor_of(number)
        return last_descriptor is None or is_renamed_in_file(
            text, self.interner.strings[number], last_descriptor, aliases
        )

    def _agrees_anywhere(self, number: int, text: bytes) -> bool:
        verdict = self._agreement_cache.get((number, text))
        if verdict is None:
            last_descriptor = self.interner.last_descriptor_of(number)
            # Some tools give a definition the range of its body or of the file: no name to compare with.
            verdict = (
                last_descriptor is None
                or b"\n" in text
                or agrees_anywhere(text, self.interner.strings[number], last_descriptor)
            )
            if len(text) < _MAX_CACHED_TEXT:
                self._agreement_cache[number, text] = verdict
        return verdict

    def _split_by_document(
        self, batch: _Batch, defined: Ints, enclosing: Int32Array, contradictions: list[Contradiction]
    ) -> None:
        """Add one part per document. Positions in a part count its kept occurrences from 0."""
        queue, owner, ids, rows, keep = batch
        ends = np.cumsum(np.bincount(owner, weights=keep, minlength=len(queue))).astype(np.int64)
        kept_position = np.cumsum(keep) - 1  # position in the batch → position among the kept occurrences
        if not keep.all():
            ids, rows = ids[keep], rows[keep]
        definition_bounds = np.searchsorted(owner[defined], np.arange(len(queue) + 1))
        document_contradictions: dict[int, list[Contradiction]] = {}
        for contradiction in contradictions:
            document = int(owner[contradiction.position])
            document_contradictions.setdefault(document, []).append(contradiction)
        first = 0
        for number, (item, end) in enumerate(zip(queue, ends.tolist(), strict=True)):
            own_definitions = slice(int(definition_bounds[number]), int(definition_bounds[number + 1]))
            part = DocumentPart(
                number=item.number,
                ids=ids[first:end],
                rows=rows[first:end],
                defined=(kept_position[defined[own_definitions]] - first).astype(np.int32),
                enclosing=enclosing[own_definitions],
                contradicted=[
                    Contradiction(int(kept_position[position]) - first, text)
                    for position, text in document_contradictions.get(number, ())
                ],
            )
            self.parts.setdefault(item.path, []).append(part)
            first = end


def _place_enclosing(sources: TextBatch, columns: OccurrenceColumns, owner: Ints) -> Int32Array:
    """One row of four per definition; zeros where there is no enclosing range inside the text."""
    placed = sources.place_ranges(columns.enclosing, owner[columns.defined])
    usable = columns.has_enclosing & placed.in_text
    return np.where(usable[:, None], np.stack(_positions(placed), axis=1), 0).astype(np.int32)


def _positions(placed: PlacedRanges) -> tuple[Ints, Ints, Ints, Ints]:
    return placed.line, placed.column, placed.end_line, placed.end_column
