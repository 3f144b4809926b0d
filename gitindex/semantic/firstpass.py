"""The first pass over a SCIP file: place every occurrence in its text and weigh the text against the symbol.

Documents go in batches, because array operations on one small document cost more in calls than in work. What
stays of a document is a `Part`: a few small integers per occurrence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip import schema
from gitindex.scip.placement import Placed, Sources
from gitindex.scip.positions import Rules
from gitindex.scip.ranges import Ints
from gitindex.semantic.agreement import Aliases, agrees_anywhere, renamed
from gitindex.semantic.interning import Interner
from gitindex.semantic.occurrences import Columns, Occurrences

BATCH_OCCURRENCES = 50_000
_BATCH_BYTES = 16 * 1024 * 1024
# What a column counts where a document does not say so itself.
_RULES = {
    "scip-python": Rules(schema.UTF16, bom_is_column=True),
    "scip-typescript": Rules(schema.UTF16, unicode_breaks=True),
    "scip-java": Rules(schema.UTF16),
    "scip-dotnet": Rules(schema.UTF16),
    "scip-go": Rules(schema.UTF8),
    "scip-clang": Rules(schema.UTF8),
    "rust-analyzer": Rules(schema.UTF8),
}

Small = npt.NDArray[np.int32]


class Part(NamedTuple):
    """What is kept of one document."""

    number: int  # which document of the file
    ids: Small
    rows: Small  # line, column, end_line, end_column, roles: one row per occurrence
    defined: Small  # positions of definitions within ids
    enclosing: Small  # one row of four per definition; 0 where unknown
    contradicted: list[tuple[int, bytes]]  # (position within ids, text found there)


class _Queued(NamedTuple):
    path: str
    number: int
    occurrences: list[bytes]
    data: bytes
    rules: Rules


class FirstPass:
    def __init__(self, tool: str) -> None:
        self.interner = Interner()
        self._occurrences = Occurrences(self.interner)
        self.parts: dict[str, list[Part]] = {}
        self.out_of_range = 0
        self._rules = _RULES.get(tool, Rules(schema.UTF8))
        self._queue: list[_Queued] = []
        self._weight = 0
        self._settled: dict[tuple[int, bytes], bool] = {}

    def add(self, path: str, number: int, message: Any, data: bytes) -> None:
        rules, encoding = self._rules, message.position_encoding
        if encoding:
            rules = Rules(encoding, rules.unicode_breaks, rules.bom_is_column)
        occurrences = list(message.occurrences)
        self._queue.append(_Queued(path, number, occurrences, data, rules))
        self._weight += max(len(occurrences), len(data) * BATCH_OCCURRENCES // _BATCH_BYTES)
        if self._weight >= BATCH_OCCURRENCES:
            self.flush()

    def flush(self) -> None:
        """Work on what is queued; must be called once after the last document."""
        queue, self._queue, self._weight = self._queue, [], 0
        if not queue:
            return
        every = [occurrence for item in queue for occurrence in item.occurrences]
        counts = [len(item.occurrences) for item in queue]
        owner = np.repeat(np.arange(len(queue)), counts)
        sources = Sources([(item.data, item.rules) for item in queue])
        read = self._occurrences.read(every)
        ids, roles = read.ids, read.roles
        placed = sources.place(read.ranges, owner)
        rows = np.stack((*placed[2:6], roles), axis=1).astype(np.int32)
        keep = placed.good & (ids != Interner.EMPTY)
        self.out_of_range += int(len(keep) - placed.good.sum())
        kept = keep[read.defined]
        defined = read.defined[kept]
        enclosing = _enclosing(sources, read, owner)[kept]
        wrong = self._weigh(queue, sources, ids, placed, owner, keep)
        self._split(queue, owner, ids, rows, keep, defined, enclosing, wrong)

    def _weigh(
        self,
        queue: list[_Queued],
        sources: Sources,
        ids: Small,
        placed: Placed,
        owner: Ints,
        keep: npt.NDArray[np.bool_],
    ) -> list[tuple[int, bytes]]:
        """Positions of global occurrences whose text contradicts their symbol, with that text."""
        which = np.flatnonzero(keep & (ids >= 0))
        names, data = self.interner.names, sources.data
        spans = zip(
            which.tolist(),
            ids[which].tolist(),
            placed.start[which].tolist(),
            placed.end[which].tolist(),
            strict=True,
        )
        differing = [(at, i, data[a:b]) for at, i, a, b in spans if data[a:b] != names[i]]
        aliases: dict[int, Aliases] = {}
        verdicts: dict[tuple[int, int, bytes], bool] = {}
        out = []
        for at, i, text in differing:
            if self._agrees_anywhere(i, text):
                continue
            key = (int(owner[at]), i, text)
            if key not in verdicts:
                if key[0] not in aliases:
                    aliases[key[0]] = Aliases(queue[key[0]].data)
                last = self.interner.tail_of(i)
                verdicts[key] = last is None or renamed(text, self.interner.strings[i], last, aliases[key[0]])
            if not verdicts[key]:
                out.append((at, text))
        return out

    def _agrees_anywhere(self, number: int, text: bytes) -> bool:
        verdict = self._settled.get((number, text))
        if verdict is None:
            last = self.interner.tail_of(number)
            # More than a line is a whole body or file, as some tools mark definitions.
            verdict = (
                last is None or b"\n" in text or agrees_anywhere(text, self.interner.strings[number], last)
            )
            if len(text) < 200:
                self._settled[number, text] = verdict
        return verdict

    def _split(
        self,
        queue: list[_Queued],
        owner: Ints,
        ids: Small,
        rows: Small,
        keep: npt.NDArray[np.bool_],
        defined: Ints,
        enclosing: Small,
        wrong: list[tuple[int, bytes]],
    ) -> None:
        """One part per document; positions count kept occurrences from the document's first."""
        ends = np.cumsum(np.bincount(owner, weights=keep, minlength=len(queue))).astype(np.int64)
        position = np.cumsum(keep) - 1
        if not keep.all():
            ids, rows = ids[keep], rows[keep]
        defined_owner = np.searchsorted(owner[defined], np.arange(len(queue) + 1))
        by_document: dict[int, list[tuple[int, bytes]]] = {}
        for at, text in wrong:
            by_document.setdefault(int(owner[at]), []).append((at, text))
        first = 0
        for number, (item, end) in enumerate(zip(queue, ends.tolist(), strict=True)):
            own = slice(int(defined_owner[number]), int(defined_owner[number + 1]))
            part = Part(
                item.number,
                ids[first:end],
                rows[first:end],
                (position[defined[own]] - first).astype(np.int32),
                enclosing[own],
                [(int(position[at]) - first, text) for at, text in by_document.get(number, ())],
            )
            self.parts.setdefault(item.path, []).append(part)
            first = end


def _enclosing(sources: Sources, read: Columns, owner: Ints) -> Small:
    """One row of four per definition; zeros where there is no enclosing range inside the text."""
    placed = sources.place(read.enclosing, owner[read.defined])
    return np.where((read.around & placed.good)[:, None], np.stack(placed[2:6], axis=1), 0).astype(np.int32)
