"""The symbols of a scip file as it is written: their names, and where each of them occurs in the file's documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.scip import blocks, packing

_PIECE = 256 * blocks.SIZE  # symbols whose arrays fit the processor's cache
_LOW = 32  # bits
Hashes = npt.NDArray[np.int64]
# A document's number, its symbols, and rows of number within them, line, column, flags.
Places = tuple[int, Hashes, npt.NDArray[np.int32]]


class Symbols(NamedTuple):
    """Global symbols in columns, best in the order of their strings: then putting several together is a merge."""

    hashes: Hashes
    texts: list[bytes]
    keys: Hashes  # of the name in the last descriptor


class Gathered:
    """Those symbols of `named` that a document holds or `linked` names."""

    def __init__(self, named: Sequence[Symbols], places: Sequence[Places], linked: Collection[int]) -> None:
        texts = [text for part in named for text in part.texts]
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
        hashes = np.concatenate([part.hashes for part in named])[order]
        known, first = np.unique(hashes, return_index=True)
        held = np.searchsorted(known, np.concatenate([hashes for _, hashes, _ in places] or [order[:0]]))
        used = np.isin(known, np.fromiter(linked, np.int64, len(linked)), assume_unique=True)
        used[held] = True
        at = np.sort(first[used])
        order = order[at]
        self.hashes: Hashes = known[used]  # ascending
        self.texts = [texts[number] for number in order.tolist()]  # ascending
        self._numbers = np.searchsorted(at, first[used])  # hash → text
        self._keys = np.concatenate([part.keys for part in named])[order]
        self._places, self._held = places, (np.cumsum(used) - 1)[held]

    def by_name(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of the numbers of texts, by key of the name in the last descriptor."""
        order = np.argsort(self._keys, kind="stable")
        return packing.pack_lists(self._keys[order], order)

    def by_hash(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of packed positions. Documents come in the order of their numbers, positions in that of their
        places: a stable sort by symbol is all it takes.
        """
        if not self._places:
            return
        sizes = np.array([len(hashes) for _, hashes, _ in self._places])
        counts = np.array([len(rows) for _, _, rows in self._places])
        files = np.repeat(np.array([file for file, _, _ in self._places], np.int32), counts)
        rows = np.concatenate([rows for _, _, rows in self._places])
        ranks = self._held[rows[:, 0] + np.repeat(np.cumsum(sizes) - sizes, counts)]
        # Packed keys are sorted several times quicker than an order is found.
        keys = np.sort(ranks << _LOW | np.arange(len(ranks)))
        bounds = np.searchsorted(keys, np.arange(0, len(self.hashes) + _PIECE, _PIECE) << _LOW).tolist()
        for at, (start, stop) in enumerate(pairwise(bounds)):
            own = slice(at * _PIECE, (at + 1) * _PIECE)
            ranks, part = keys[start:stop] >> _LOW, keys[start:stop] & ((1 << _LOW) - 1)
            _, lines, columns, flags = np.ascontiguousarray(rows[part].T)
            blob, ends = packing.pack_symbols(
                self._numbers[own], ranks - at * _PIECE, files[part], lines, columns, flags
            )
            yield from packing.pack_blocks(self.hashes[own], blob, ends)
