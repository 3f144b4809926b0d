"""Builds the symbol tables of a new scip file: the strings of symbols, and where each symbol occurs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip import blocks, packing

_PIECE_SYMBOLS = 256 * blocks.KEYS_PER_BLOCK  # symbols per step: their arrays fit the processor's cache
_ROW_BITS = 32  # low bits of a sort key: the row number
Hashes = npt.NDArray[np.int64]


class DocumentPositions(NamedTuple):
    """The positions of one document's global symbols."""

    file: int  # the document's number
    hashes: Hashes
    rows: npt.NDArray[np.int32]  # columns: number within hashes, line, column, flags


class SymbolColumns(NamedTuple):
    """Global symbols in columns. Sorting is fastest when each is already sorted by text."""

    hashes: Hashes
    texts: list[bytes]
    keys: Hashes  # hash of the name in the last descriptor


class UsedSymbols:
    """The symbols of `symbol_columns` that occur in a document or that `linked_hashes` contains."""

    def __init__(
        self,
        symbol_columns: Sequence[SymbolColumns],
        document_positions: Sequence[DocumentPositions],
        linked_hashes: Collection[int],
    ) -> None:
        texts = [text for part in symbol_columns for text in part.texts]
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
        hashes = np.concatenate([part.hashes for part in symbol_columns])[order]
        # A symbol may be in several parts: `first` is its first place among the sorted texts.
        unique_hashes, first = np.unique(hashes, return_index=True)
        document_hashes = np.concatenate([document.hashes for document in document_positions] or [order[:0]])
        occurring = np.searchsorted(unique_hashes, document_hashes)
        linked = np.fromiter(linked_hashes, np.int64, len(linked_hashes))
        used = np.isin(unique_hashes, linked, assume_unique=True)
        used[occurring] = True
        first_used = np.sort(first[used])
        order = order[first_used]
        self.hashes: Hashes = unique_hashes[used]  # ascending
        self.texts = [texts[number] for number in order.tolist()]  # ascending
        # Parallel to `hashes`: the number of each symbol in `texts`.
        self._text_numbers = np.searchsorted(first_used, first[used])
        self._keys = np.concatenate([part.keys for part in symbol_columns])[order]
        self._document_positions = document_positions
        # For each hash of each document in turn, its rank in `hashes`.
        self._symbol_ranks = (np.cumsum(used) - 1)[occurring]

    def pack_by_name(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of text numbers, by the hash of the name in the last descriptor."""
        order = np.argsort(self._keys, kind="stable")
        return packing.pack_lists(self._keys[order], order)

    def pack_by_hash(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of packed positions, by symbol hash.

        Rows come in the order of documents and positions, so that sorting them by symbol and row number is enough.
        """
        if not self._document_positions:
            return
        documents = self._document_positions
        sizes = np.array([len(document.hashes) for document in documents])
        counts = np.array([len(document.rows) for document in documents])
        files = np.repeat(np.array([document.file for document in documents], np.int32), counts)
        rows = np.concatenate([document.rows for document in documents])
        # `_symbol_ranks` is all documents in turn: add where each begins to the number within its hashes.
        ranks = self._symbol_ranks[rows[:, 0] + np.repeat(np.cumsum(sizes) - sizes, counts)]
        # Rank and row number in one integer: np.sort is several times faster than a stable argsort.
        keys = np.sort(ranks << _ROW_BITS | np.arange(len(ranks)))
        bounds = np.searchsorted(
            keys, np.arange(0, len(self.hashes) + _PIECE_SYMBOLS, _PIECE_SYMBOLS) << _ROW_BITS
        ).tolist()
        for piece_number, (start, stop) in enumerate(pairwise(bounds)):
            piece = slice(piece_number * _PIECE_SYMBOLS, (piece_number + 1) * _PIECE_SYMBOLS)
            ranks, row_numbers = keys[start:stop] >> _ROW_BITS, keys[start:stop] & ((1 << _ROW_BITS) - 1)
            _, lines, columns, flags = np.ascontiguousarray(rows[row_numbers].T)
            blob, ends = packing.pack_symbols(
                numbers=self._text_numbers[piece],
                ranks=ranks - piece_number * _PIECE_SYMBOLS,
                files=files[row_numbers],
                lines=lines,
                columns=columns,
                flags=flags,
            )
            yield from packing.pack_blocks(self.hashes[piece], blob, ends)
