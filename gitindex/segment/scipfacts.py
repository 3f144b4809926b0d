"""Semantic facts of one segment in SQLite (`scip.sqlite`): documents, symbols, links (SE-7, SE-8).

Written once into staging, then opened read-only and immutable. A document is known by its path and the blob it was
made from; a document without a blob hides the path's documents in older segments. Symbols are known by their 64-bit
hash, so segments combine without a table between them. Everything a merge needs is in the documents themselves.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote

from gitindex.errors import StoreCorrupt
from gitindex.model import versions
from gitindex.scip import blocks, fact_postings, symbol_grammar, symbol_strings
from gitindex.scip.fact_postings import DefinitionRow, FileBlob, Posting
from gitindex.segment.immutable import open_immutable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from gitindex.segment.scipsymbols import DocumentPositions, SymbolColumns

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE scip_files (
  file INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, blob TEXT NOT NULL, context TEXT NOT NULL,
  digest BLOB NOT NULL, interface TEXT NOT NULL, syntax TEXT NOT NULL, unresolved INTEGER NOT NULL,
  demoted INTEGER NOT NULL, occurrences BLOB NOT NULL, definitions BLOB NOT NULL, hover BLOB NOT NULL,
  links BLOB NOT NULL);
CREATE TABLE scip_symbols (hash INTEGER PRIMARY KEY, block BLOB NOT NULL);
CREATE TABLE scip_names (block INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE scip_short (key INTEGER PRIMARY KEY, block BLOB NOT NULL);
CREATE TABLE scip_links (
  target INTEGER NOT NULL, symbol INTEGER NOT NULL, file INTEGER NOT NULL, flags INTEGER NOT NULL,
  PRIMARY KEY (target, symbol, file)) WITHOUT ROWID;
CREATE TABLE scip_external (hash INTEGER PRIMARY KEY, text BLOB NOT NULL);
"""
_LINK_STRUCT = struct.Struct("<qqB")
_HEADER_COLUMNS = "file, path, blob, context, digest, interface, syntax, unresolved, demoted"
_BATCH_OCCURRENCES = 50_000
SymbolLink = tuple[int, int, int]  # symbol, target, flags


class DocumentHeader(NamedTuple):
    """A document without its positions. `blob` is what it was made from; "" hides older documents of the path."""

    file: int
    path: str
    blob: str
    context: str
    digest: bytes
    interface: str  # semantic interface hash
    syntax: str  # syntactic interface hash of the same bytes, "" unknown
    unresolved: int
    demoted: int


class PackableDocument(Protocol):
    """What the writer needs of a decoded document."""

    @property
    def path(self) -> str: ...
    @property
    def hashes(self) -> npt.NDArray[np.int64]: ...
    @property
    def locals(self) -> int: ...
    @property
    def occurrences(self) -> npt.NDArray[np.int32]: ...
    @property
    def definitions(self) -> npt.NDArray[np.int32]: ...
    @property
    def relationships(self) -> list[SymbolLink]: ...
    @property
    def hover(self) -> bytes: ...
    @property
    def interface_hash(self) -> str: ...
    @property
    def unresolved(self) -> int: ...


class PackedDocument(NamedTuple):
    """A document in stored form, not yet numbered."""

    path: str
    interface: str
    unresolved: int
    demoted: int
    occurrences: bytes
    definitions: bytes
    hover: bytes
    links: tuple[SymbolLink, ...]

    @property
    def digest(self) -> bytes:
        """Equal exactly when storing it again would store the same."""
        value = hashlib.blake2b(digest_size=16)
        counts = f"{self.interface}\0{self.unresolved}\0{self.demoted}".encode()
        for part in (counts, self.occurrences, self.definitions, self.hover, _pack_links(self.links)):
            value.update(len(part).to_bytes(8, "little") + part)
        return value.digest()


class StorableDocument(NamedTuple):
    """A document in stored form, with what the positions of its symbols are gathered from."""

    packed: PackedDocument
    hashes: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int32]  # of global symbols: number within hashes, line, column, flags


def pack_documents(documents: Iterable[PackableDocument]) -> Iterator[StorableDocument]:
    """Documents in stored form, many at once: calls cost more than work."""
    batch: list[PackableDocument] = []
    occurrence_count = 0
    for document in documents:
        batch.append(document)
        occurrence_count += len(document.occurrences)
        if occurrence_count >= _BATCH_OCCURRENCES:
            yield from _pack_batch(batch)
            batch, occurrence_count = [], 0
    if batch:
        yield from _pack_batch(batch)


def _pack_batch(batch: list[PackableDocument]) -> Iterator[StorableDocument]:
    import zstandard

    from gitindex.scip import packing

    compressor = zstandard.ZstdCompressor(level=3)
    packed_occurrences = packing.pack_files([(doc.hashes, doc.locals, doc.occurrences) for doc in batch])
    packed_definitions = packing.pack_definitions([doc.definitions for doc in batch])
    positions_by_document = _collect_global_positions(batch)
    for doc, occurrences, definitions, positions in zip(
        batch, packed_occurrences, packed_definitions, positions_by_document, strict=True
    ):
        quality = (
            positions[:, 3] >> fact_postings.QUALITY_SHIFT
        )  # only texts of global symbols are ever contradicted
        packed_document = PackedDocument(
            doc.path,
            doc.interface_hash,
            doc.unresolved,
            int((quality == fact_postings.DEMOTED).sum()),
            occurrences,
            definitions,
            compressor.compress(doc.hover),
            tuple(sorted(set(doc.relationships))),
        )
        yield StorableDocument(packed_document, doc.hashes, positions)


def _collect_global_positions(batch: list[PackableDocument]) -> list[npt.NDArray[np.int32]]:
    """`Ready.positions` of each document."""
    import numpy as np

    rows = np.concatenate([doc.occurrences for doc in batch])
    counts = [len(doc.occurrences) for doc in batch]
    is_global = rows[:, 0] < np.repeat([len(doc.hashes) for doc in batch], counts)  # the rest are locals
    bounds = np.concatenate(([0], np.cumsum(is_global)))[np.cumsum(counts)].tolist()
    global_rows = rows[is_global][:, [0, 1, 2, 5]]
    return [global_rows[start:stop] for start, stop in zip([0, *bounds], bounds, strict=False)]


class ScipWriter:
    """Fills a new scip file. `finish` writes symbols and closes it."""

    def __init__(self, path: Path, segment_id: str) -> None:
        path.touch()
        self._db = sqlite3.connect(f"file:{quote(str(path))}", uri=True, isolation_level=None)
        # Durability comes from the publish barrier, as for all staged files.
        self._db.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA page_size=4096;" + _SCHEMA
        )
        self._db.execute("BEGIN")
        version = str(versions.MATRIX["scip_facts"].current)
        self._db.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("schema_version", version), ("segment_id", segment_id)]
        )
        self.files = 0
        self._linked_hashes: set[int] = set()
        self._document_positions: list[DocumentPositions] = []

    def add(self, storable: StorableDocument, *, blob: str, context: str, syntax: str) -> None:
        file = self._insert_document(storable.packed, blob, context, syntax)
        self._document_positions.append((file, storable.hashes, storable.positions))
        self._linked_hashes.update(value for link in storable.packed.links for value in link[:2])

    def add_tombstone(self, path: str, context: str) -> None:
        """Hide the path's documents in older segments."""
        self._insert_document(PackedDocument(path, "", 0, 0, b"", b"", b"", ()), "", context, "")

    def _insert_document(self, packed: PackedDocument, blob: str, context: str, syntax: str) -> int:
        self.files += 1
        row = (
            self.files,
            packed.path,
            blob,
            context,
            packed.digest if blob else b"",
            packed.interface,
            syntax,
        )
        counts = (packed.unresolved, packed.demoted)
        blobs = (packed.occurrences, packed.definitions, packed.hover, _pack_links(packed.links))
        self._db.execute("INSERT INTO scip_files VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", (*row, *counts, *blobs))
        self._db.executemany(
            "INSERT OR REPLACE INTO scip_links VALUES (?,?,?,?)",
            [(target, symbol, self.files, flags) for symbol, target, flags in packed.links],
        )
        return self.files

    def finish(
        self, symbol_columns: Sequence[SymbolColumns], external_hovers: Iterable[tuple[int, bytes]] = ()
    ) -> None:
        """`find_by_short_name`: symbols, those of other documents are left out; `external_hover`: hover texts by hash."""
        from concurrent.futures import ThreadPoolExecutor

        from gitindex.segment.scipsymbols import UsedSymbols

        used_symbols = UsedSymbols(symbol_columns, self._document_positions, self._linked_hashes)
        with ThreadPoolExecutor(1) as executor:  # compressing leaves the interpreter to others
            packed_names = executor.submit(list, symbol_strings.pack_names(used_symbols.texts))
            self._db.executemany("INSERT INTO scip_symbols VALUES (?,?)", used_symbols.pack_by_hash())
            self._db.executemany("INSERT INTO scip_short VALUES (?,?)", used_symbols.pack_by_name())
            self._db.executemany("INSERT INTO scip_names VALUES (?,?)", enumerate(packed_names.result()))
        used_hashes = set(used_symbols.hashes.tolist()) | self._linked_hashes
        used_hovers = sorted((value, text) for value, text in external_hovers if value in used_hashes)
        self._db.executemany("INSERT OR IGNORE INTO scip_external VALUES (?,?)", used_hovers)
        self._db.execute("COMMIT")
        self._db.close()

    def abandon(self) -> None:
        self._db.close()


class ScipFacts:
    """Read-only hand on one scip file. Knows nothing of other segments: only a view may join them (SN-6)."""

    def __init__(self, path: Path) -> None:
        self._db = open_immutable(path, "scip_facts")
        self._name_blocks: dict[int, list[bytes]] = {}

    def close(self) -> None:
        self._db.close()

    def documents(self) -> Iterator[DocumentHeader]:
        for row in self._db.execute(f"SELECT {_HEADER_COLUMNS} FROM scip_files ORDER BY file"):  # noqa: S608
            yield DocumentHeader(*row)

    def find_document(self, path: str) -> DocumentHeader | None:
        row = self._fetch_one(f"SELECT {_HEADER_COLUMNS} FROM scip_files WHERE path = ?", path)  # noqa: S608
        return None if row is None else DocumentHeader(*row)

    def document_by_number(self, file: int) -> DocumentHeader:
        row = self._fetch_one(f"SELECT {_HEADER_COLUMNS} FROM scip_files WHERE file = ?", file)  # noqa: S608
        if row is None:
            raise StoreCorrupt(f"scip facts name document {file}, which is not there", hint="gitindex repair")
        return DocumentHeader(*row)

    def occurrences(self, file: int) -> FileBlob:
        return fact_postings.open_file(self._read_column("occurrences", file))

    def definitions(self, file: int) -> Iterator[DefinitionRow]:
        return fact_postings.unpack_definitions(self._read_column("definitions", file))

    def hover(self, file: int) -> bytes:
        """As `semantic.describe` reads it."""
        import zstandard

        return zstandard.ZstdDecompressor().decompress(
            self._read_column("hover", file), max_output_size=256 * 1024 * 1024
        )

    def postings(self, symbol: int) -> Iterator[Posting]:
        packed_positions = self._find_in_block("scip_symbols", "hash", symbol)
        return iter(()) if packed_positions is None else fact_postings.unpack_symbol(packed_positions)

    def symbols(self) -> Iterator[tuple[int, bytes]]:
        """Hash and packed positions of every symbol, ascending."""
        for (block,) in self._db.execute("SELECT block FROM scip_symbols ORDER BY hash"):
            yield from blocks.items(block)

    def name(self, symbol: int) -> bytes | None:
        packed_positions = self._find_in_block("scip_symbols", "hash", symbol)
        return (
            None
            if packed_positions is None
            else self._read_name(fact_postings.read_name_number(packed_positions))
        )

    def names(self) -> Iterator[tuple[int, bytes]]:
        """Hash and string of every symbol."""
        for (block,) in self._db.execute("SELECT data FROM scip_names ORDER BY block"):
            for text in symbol_strings.unpack_names(block):
                yield symbol_grammar.hash64(text), text

    def find_by_short_name(self, short: bytes) -> list[bytes]:
        """Symbols whose last descriptor has this name."""
        packed_numbers = self._find_in_block("scip_short", "key", symbol_grammar.hash64(short))
        return (
            []
            if packed_numbers is None
            else [
                self._read_name(number) for number in accumulate(fact_postings.iter_varints(packed_numbers))
            ]
        )

    def find_links(self, target: int) -> list[tuple[int, int, int]]:
        """(symbol, document, flags) of what relates to `target`."""
        sql = "SELECT symbol, file, flags FROM scip_links WHERE target = ?"
        return list(self._db.execute(sql, (target,)))

    def external_hover(self, symbol: int) -> bytes | None:
        row = self._fetch_one("SELECT text FROM scip_external WHERE hash = ?", symbol)
        return None if row is None else row[0]

    def external_hovers(self) -> Iterator[tuple[int, bytes]]:
        yield from self._db.execute("SELECT hash, text FROM scip_external")

    def read_packed(self, header: DocumentHeader) -> PackedDocument:
        """The document in stored form, for a merge."""
        columns = "occurrences, definitions, hover, links"
        row = self._fetch_one(f"SELECT {columns} FROM scip_files WHERE file = ?", header.file)  # noqa: S608
        assert row is not None
        counts = (header.unresolved, header.demoted)
        return PackedDocument(
            header.path, header.interface, *counts, row[0], row[1], row[2], _unpack_links(row[3])
        )

    def _read_column(self, column: str, file: int) -> bytes:
        row = self._fetch_one(f"SELECT {column} FROM scip_files WHERE file = ?", file)  # noqa: S608
        return b"" if row is None else row[0]

    def _read_name(self, number: int) -> bytes:
        block, offset = divmod(number, symbol_strings.NAMES_PER_BLOCK)
        if block not in self._name_blocks:
            row = self._fetch_one("SELECT data FROM scip_names WHERE block = ?", block)
            self._name_blocks[block] = symbol_strings.unpack_names(row[0]) if row else []
        return self._name_blocks[block][offset]

    def _find_in_block(self, table: str, column: str, key: int) -> bytes | None:
        """From the one block that may hold the key."""
        sql = f"SELECT block FROM {table} WHERE {column} <= ? ORDER BY {column} DESC LIMIT 1"  # noqa: S608
        row = self._fetch_one(sql, key)
        return None if row is None else blocks.find(row[0], key)

    def _fetch_one(self, sql: str, value: object) -> Any:
        return self._db.execute(sql, (value,)).fetchone()


def _pack_links(links: Sequence[SymbolLink]) -> bytes:
    return b"".join(_LINK_STRUCT.pack(*link) for link in links)


def _unpack_links(blob: bytes) -> tuple[SymbolLink, ...]:
    return tuple(_LINK_STRUCT.iter_unpack(blob))
