"""Tables of a batch of documents in the second pass of `decode`: symbol numbers, sorted rows of definitions.

All arrays hold the documents of the batch one after the other; `owner` is the number of each row's document. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip.ranges import Ints
from gitindex.semantic.firstpass import DocumentPart, Int32Array
from gitindex.semantic.interning import SymbolTable


class DocumentSymbols(NamedTuple):
    """The symbols of one document in the order of their numbers."""

    hashes: npt.NDArray[np.int64]
    local_ids: Ints  # interned numbers


class SymbolNumbering:
    """Numbers the symbols of each document of a batch: globals by ascending hash, then locals.

    `index` is the number of each occurrence's symbol within its document.
    """

    def __init__(self, table: SymbolTable, owner: Ints, ids: Int32Array, documents: int) -> None:
        self._table, self._global_count = table, len(table.sorted_hashes)
        # The rank of a global symbol is that of its hash; locals (negative ids) come after all of them.
        rank = np.where(ids < 0, self._global_count - ids, 0)
        if self._global_count:
            rank = np.where(ids < 0, rank, table.rank[np.maximum(ids, 0)])
        width = int(rank.max(initial=0)) + 1
        self._keys, inverse = np.unique(owner * width + rank, return_inverse=True)
        self._ranks = self._keys % width
        self._bounds = np.searchsorted(self._keys, np.arange(documents + 1) * width)
        self.index: Ints = inverse - self._bounds[owner]

    def symbols_of(self, document: int) -> DocumentSymbols:
        ranks = self._ranks[self._bounds[document] : self._bounds[document + 1]]
        count = int(np.searchsorted(ranks, self._global_count))
        return DocumentSymbols(self._table.sorted_hashes[ranks[:count]], self._global_count - ranks[count:])


def collect_definition_rows(
    parts: list[DocumentPart], owner: Ints, index: Ints, ids: Int32Array, rows: Int32Array
) -> Int32Array:
    """The document, then the columns of `DefinitionRow` with the interned symbol in place of the description.

    Sorted by document, position and symbol.
    """
    starts = np.cumsum([0, *(len(part.ids) for part in parts[:-1])])
    positions = np.concatenate(
        [part.defined + start for part, start in zip(parts, starts.tolist(), strict=True)]
    )
    enclosing = np.concatenate([part.enclosing for part in parts])
    table = np.column_stack(
        (owner[positions], index[positions], rows[positions, :4], enclosing, ids[positions])
    ).astype(np.int32)
    return drop_repeated_rows(table[np.lexsort((table[:, 1], table[:, 3], table[:, 2], table[:, 0]))])


def sort_rows(table: Int32Array) -> Ints:
    """Row numbers sorted by document, start, end, symbol, flags.

    Packs these into two keys of 63 bits, so that two sorts do instead of seven, the second over the few rows that start
    at the same place. Values that do not fit are capped: the order stays the same for the same input.
    """
    owner, number, line, column, end_line, end_column, flags = np.ascontiguousarray(table.T, dtype=np.int64)
    start = owner << 44 | line << 20 | np.minimum(column, 0xFFFFF)
    tie_break = (
        np.minimum(end_line - line, 0xFFFF) << 47
        | np.minimum(end_column, 0xFFFFF) << 27
        | np.minimum(number, 0x3FFFF) << 9
        | flags & 0x1FF
    )
    order = np.argsort(start, kind="stable")  # quick: indexers write most of them in order
    starts_like_previous = np.diff(start[order], prepend=-1) == 0
    is_tied = starts_like_previous | np.append(starts_like_previous[1:], False)[: len(starts_like_previous)]
    tied = order[is_tied]
    order[is_tied] = tied[np.lexsort((tie_break[tied], start[tied]))]
    return order


def drop_repeated_rows(table: Int32Array) -> Int32Array:
    """A sorted table without repeated rows."""
    if len(table) < 2:
        return table
    return table[np.concatenate(([True], (table[1:] != table[:-1]).any(axis=1)))]
