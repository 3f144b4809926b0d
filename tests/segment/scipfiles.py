"""Small scip files from documents in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gitindex.scip.fact_postings import DEFINITION, READ
from gitindex.scip.symbol_grammar import hash64, parse_last_name
from gitindex.segment.scipfacts import ScipWriter, SymbolLink, pack_documents
from gitindex.segment.scipsymbols import SymbolColumns


def symbol(name: str) -> bytes:
    """A global symbol whose last descriptor has this name."""
    return f"scheme manager package 1.0 {name}().".encode()


def symbol_hash(name: str) -> int:
    return hash64(symbol(name))


@dataclass(frozen=True)
class Document:
    """A document that defines and reads global symbols, each on a line of its own; the last line has a local."""

    path: str
    defines: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    relationships: list[SymbolLink] = field(default_factory=list)
    blob: str = "blob"
    hover: bytes = b""
    interface_hash: str = "interface"
    unresolved: int = 0
    locals: int = 1

    @property
    def hashes(self) -> npt.NDArray[np.int64]:
        return np.array(sorted(map(symbol_hash, {*self.defines, *self.reads})), np.int64)

    @property
    def occurrences(self) -> npt.NDArray[np.int32]:
        numbers = {value: number for number, value in enumerate(self.hashes.tolist())}
        roles = [(name, DEFINITION) for name in self.defines] + [(name, READ) for name in self.reads]
        rows = [
            (numbers[symbol_hash(name)], line, 5, line, 5 + len(name), flags)
            for line, (name, flags) in enumerate(roles, 1)
        ]
        rows.append((len(numbers), len(rows) + 1, 1, len(rows) + 1, 2, READ))
        return np.array(rows, np.int32)

    @property
    def definitions(self) -> npt.NDArray[np.int32]:
        rows = [(*row[:5], 0, 0, 0, 0, -1) for row in self.occurrences.tolist() if row[5] == DEFINITION]
        return np.array(rows, np.int32).reshape(-1, 10)


def columns_of(names: Iterable[str]) -> SymbolColumns:
    texts = [symbol(name) for name in names]
    hashes = np.array([hash64(text) for text in texts], np.int64)
    keys = np.array([hash64(parse_last_name(text)) for text in texts], np.int64)
    return SymbolColumns(hashes, texts, keys)


def write_scip(
    path: Path,
    documents: Sequence[Document],
    *,
    tombstones: Sequence[str] = (),
    context: str = "python:.",
    more_symbols: Sequence[str] = (),
    hovers: Sequence[tuple[int, bytes]] = (),
) -> Path:
    writer = ScipWriter(path, path.stem)
    for document, storable in zip(documents, pack_documents(documents), strict=True):
        writer.add(storable, blob=document.blob, context=context, syntax="")
    for hidden in tombstones:
        writer.add_tombstone(hidden, context)
    names = {name for document in documents for name in (*document.defines, *document.reads)}
    writer.finish([columns_of(sorted({*names, *more_symbols}))], hovers)
    return path
