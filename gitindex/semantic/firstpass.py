"""The first pass over a SCIP file: place every occurrence in its text and weigh the text against the symbol.

Documents go in batches, because array operations on one small document cost more in calls than in work. What
stays of a document is a `DocumentPart`: a few small integers per occurrence.
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
# What a column counts where a document does not say so itself.
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


class DocumentPart(NamedTuple):
    """What is kept of one document."""

    number: int  # which document of the file
    ids: Int32Array
    rows: Int32Array  # line, column, end_line, end_column, roles: one row per occurrence
    defined: Int32Array  # positions of definitions within ids
    enclosing: Int32Array  # one row of four per definition; 0 where unknown
    contradicted: list[tuple[int, bytes]]  # (position within ids, text found there)


class _QueuedDocument(NamedTuple):
    path: str
    number: int
    occurrences: list[bytes]
    data: bytes
    rules: PositionRules


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
        """Work on what is queued; must be called once after the last document."""
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
        rows = np.stack((*placed[2:6], roles), axis=1).astype(np.int32)
        keep = placed.in_text & (ids != Interner.EMPTY)
        self.out_of_range += int(len(keep) - placed.in_text.sum())
        kept_definitions = keep[columns.defined]
        defined = columns.defined[kept_definitions]
        enclosing = _place_enclosing(sources, columns, owner)[kept_definitions]
        contradictions = self._find_contradictions(queue, sources, ids, placed, owner, keep)
        self._split_by_document(queue, owner, ids, rows, keep, defined, enclosing, contradictions)

    def _find_contradictions(
        self,
        queue: list[_QueuedDocument],
        sources: TextBatch,
        ids: Int32Array,
        placed: PlacedRanges,
        owner: Ints,
        keep: npt.NDArray[np.bool_],
    ) -> list[tuple[int, bytes]]:
        """Positions of global occurrences whose text contradicts their symbol, with that text."""
        positions = np.flatnonzero(keep & (ids >= 0))
        names, data = self.interner.names, sources.data
        spans = zip(
            positions.tolist(),
            ids[positions].tolist(),
            placed.start[positions].tolist(),
            placed.end[positions].tolist(),
            strict=True,
        )
        differing = [(at, i, data[a:b]) for at, i, a, b in spans if data[a:b] != names[i]]
        aliases: dict[int, Aliases] = {}
        verdicts: dict[tuple[int, int, bytes], bool] = {}
        contradictions = []
        for at, i, text in differing:
            if self._agrees_anywhere(i, text):
                continue
            key = (int(owner[at]), i, text)
            if key not in verdicts:
                if key[0] not in aliases:
                    aliases[key[0]] = Aliases(queue[key[0]].data)
                last_descriptor = self.interner.last_descriptor_of(i)
                verdicts[key] = last_descriptor is None or is_renamed_in_file(
                    text, self.interner.strings[i], last_descriptor, aliases[key[0]]
                )
            if not verdicts[key]:
                contradictions.append((at, text))
        return contradictions

    def _agrees_anywhere(self, number: int, text: bytes) -> bool:
        verdict = self._agreement_cache.get((number, text))
        if verdict is None:
            last_descriptor = self.interner.last_descriptor_of(number)
            # More than a line is a whole body or file, as some tools mark definitions.
            verdict = (
                last_descriptor is None
                or b"\n" in text
                or agrees_anywhere(text, self.interner.strings[number], last_descriptor)
            )
            if len(text) < 200:
                self._agreement_cache[number, text] = verdict
        return verdict

    def _split_by_document(
        self,
        queue: list[_QueuedDocument],
        owner: Ints,
        ids: Int32Array,
        rows: Int32Array,
        keep: npt.NDArray[np.bool_],
        defined: Ints,
        enclosing: Int32Array,
        contradictions: list[tuple[int, bytes]],
    ) -> None:
        """One part per document; positions count kept occurrences from the document's first."""
        ends = np.cumsum(np.bincount(owner, weights=keep, minlength=len(queue))).astype(np.int64)
        position = np.cumsum(keep) - 1
        if not keep.all():
            ids, rows = ids[keep], rows[keep]
        definition_bounds = np.searchsorted(owner[defined], np.arange(len(queue) + 1))
        document_contradictions: dict[int, list[tuple[int, bytes]]] = {}
        for at, text in contradictions:
            document_contradictions.setdefault(int(owner[at]), []).append((at, text))
        first = 0
        for number, (item, end) in enumerate(zip(queue, ends.tolist(), strict=True)):
            own_definitions = slice(int(definition_bounds[number]), int(definition_bounds[number + 1]))
            part = DocumentPart(
                item.number,
                ids[first:end],
                rows[first:end],
                (position[defined[own_definitions]] - first).astype(np.int32),
                enclosing[own_definitions],
                [(int(position[at]) - first, text) for at, text in document_contradictions.get(number, ())],
            )
            self.parts.setdefault(item.path, []).append(part)
            first = end


def _place_enclosing(sources: TextBatch, columns: OccurrenceColumns, owner: Ints) -> Int32Array:
    """One row of four per definition; zeros where there is no enclosing range inside the text."""
    placed = sources.place_ranges(columns.enclosing, owner[columns.defined])
    return np.where(
        (columns.has_enclosing & placed.in_text)[:, None], np.stack(placed[2:6], axis=1), 0
    ).astype(np.int32)
