"""The symbols of a scip file as it is written: their names, and where each of them occurs in the file's documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip import blocks, packing

_PIECE_SYMBOLS = 256 * blocks.KEYS_PER_BLOCK  # symbols whose arrays fit the processor's cache
_ROW_BITS = 32  # bits
Hashes = npt.NDArray[np.int64]
# A document's number, its symbols, and rows of number within them, line, column, flags.
DocumentPositions = tuple[int, Hashes, npt.NDArray[np.int32]]


class SymbolColumns(NamedTuple):
    """Global symbols in columns, best in the order of their strings: then putting several together is a merge."""

    hashes: Hashes
    texts: list[bytes]
    keys: Hashes  # of the name in the last descriptor


class UsedSymbols:
    """Those symbols of `named` that a document holds or `linked` names."""

    def __init__(
        self,
        symbol_columns: Sequence[SymbolColumns],
        document_positions: Sequence[DocumentPositions],
        linked_hashes: Collection[int],
    ) -> None:
        texts = [text for part in symbol_columns for text in part.texts]
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
        hashes = np.concatenate([part.hashes for part in symbol_columns])[order]
        unique_hashes, first = np.unique(hashes, return_index=True)
        occurring = np.searchsorted(
            unique_hashes, np.concatenate([hashes for _, hashes, _ in document_positions] or [order[:0]])
        )
        used = np.isin(
            unique_hashes, np.fromiter(linked_hashes, np.int64, len(linked_hashes)), assume_unique=True
        )
        used[occurring] = True
        first_used = np.sort(first[used])
        order = order[first_used]
        self.hashes: Hashes = unique_hashes[used]  # ascending
        self.texts = [texts[number] for number in order.tolist()]  # ascending
        self._text_numbers = np.searchsorted(first_used, first[used])  # hash → text
        self._keys = np.concatenate([part.keys for part in symbol_columns])[order]
        self._document_positions, self._symbol_ranks = document_positions, (np.cumsum(used) - 1)[occurring]

    def pack_by_name(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of the numbers of texts, by key of the name in the last descriptor."""
        order = np.argsort(self._keys, kind="stable")
        return packing.pack_lists(self._keys[order], order)

    def pack_by_hash(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of packed positions. Documents come in the order of their numbers, positions in that of their
        places: a stable sort by symbol is all it takes.
        """
        if not self._document_positions:
            return
        sizes = np.array([len(hashes) for _, hashes, _ in self._document_positions])
        counts = np.array([len(rows) for _, _, rows in self._document_positions])
        files = np.repeat(np.array([file for file, _, _ in self._document_positions], np.int32), counts)
        rows = np.concatenate([rows for _, _, rows in self._document_positions])
        ranks = self._symbol_ranks[rows[:, 0] + np.repeat(np.cumsum(sizes) - sizes, counts)]
        # Packed keys are sorted several times quicker than an order is found.
        keys = np.sort(ranks << _ROW_BITS | np.arange(len(ranks)))
        bounds = np.searchsorted(
            keys, np.arange(0, len(self.hashes) + _PIECE_SYMBOLS, _PIECE_SYMBOLS) << _ROW_BITS
        ).tolist()
        for piece_number, (start, stop) in enumerate(pairwise(bounds)):
            piece = slice(piece_number * _PIECE_SYMBOLS, (piece_number + 1) * _PIECE_SYMBOLS)
            ranks, row_numbers = keys[start:stop] >> _ROW_BITS, keys[start:stop] & ((1 << _ROW_BITS) - 1)
            _, lines, columns, flags = np.ascontiguousarray(rows[row_numbers].T)
            blob, ends = packing.pack_symbols(
                self._text_numbers[piece],
                ranks - piece_number * _PIECE_SYMBOLS,
                files[row_numbers],
                lines,
                columns,
                flags,
            )
            yield from packing.pack_blocks(self.hashes[piece], blob, ends)
