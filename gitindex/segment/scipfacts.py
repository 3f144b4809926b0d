"""Exact facts of one segment in SQLite (`scip.sqlite`): documents, symbols, links (SE-7, SE-8).

Written once into staging, then opened read-only and immutable. A document is identified by its path and the blob that
it was made from; a document without a blob hides the path's documents in older segments. Symbols are identified by
their 64-bit hash, the same in every segment. The documents alone contain everything that a merge needs.
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
_LINK_STRUCT = struct.Struct("<qqB")  # a `SymbolLink`: two 64-bit hashes, 8 bits of flags
_HEADER_COLUMNS = "file, path, blob, context, digest, interface, syntax, unresolved, demoted"
_BATCH_OCCURRENCES = 50_000
# Of the columns of an occurrence (`fact_postings.Occurrence`): symbol number, line, column, flags.
POSITION_COLUMNS = [0, 1, 2, 5]
SymbolLink = tuple[int, int, int]  # symbol hash, target hash, flags


class DocumentHeader(NamedTuple):
    """A document without its positions. `blob` is what it was made from; "" hides older documents of the path."""

    file: int
    path: str
    blob: str
    context: str
    digest: bytes
    interface: str  # interface hash of the exact facts
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

    @classmethod
    def tombstone(cls, path: str) -> PackedDocument:
        """A document without facts, which hides older ones of the path."""
        return cls(
            path=path,
            interface="",
            unresolved=0,
            demoted=0,
            occurrences=b"",
            definitions=b"",
            hover=b"",
            links=(),
        )

    @property
    def digest(self) -> bytes:
        """Hash of the stored form, except for the path."""
        value = hashlib.blake2b(digest_size=16)
        counts = f"{self.interface}\0{self.unresolved}\0{self.demoted}".encode()
        for part in (counts, self.occurrences, self.definitions, self.hover, _pack_links(self.links)):
            value.update(len(part).to_bytes(8, "little") + part)  # the length separates the parts
        return value.digest()


class StorableDocument(NamedTuple):
    """A document in stored form, with the positions that the symbol table is built from."""

    packed: PackedDocument
    hashes: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int32]  # of global symbols; columns: number within hashes, line, column, flags


def pack_documents(documents: Iterable[PackableDocument]) -> Iterator[StorableDocument]:
    """Pack documents in batches: numpy calls cost more than the work in them."""
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
        # Column 3 holds the flags. Locals are never demoted: only names of global symbols are compared with the text.
        quality = positions[:, 3] >> fact_postings.QUALITY_SHIFT
        packed_document = PackedDocument(
            path=doc.path,
            interface=doc.interface_hash,
            unresolved=doc.unresolved,
            demoted=int((quality == fact_postings.DEMOTED).sum()),
            occurrences=occurrences,
            definitions=definitions,
            hover=compressor.compress(doc.hover),
            links=tuple(sorted(set(doc.relationships))),
        )
        yield StorableDocument(packed_document, doc.hashes, positions)


def _collect_global_positions(batch: list[PackableDocument]) -> list[npt.NDArray[np.int32]]:
    """`StorableDocument.positions` of each document."""
    import numpy as np

    rows = np.concatenate([doc.occurrences for doc in batch])
    counts = [len(doc.occurrences) for doc in batch]
    is_global = rows[:, 0] < np.repeat([len(doc.hashes) for doc in batch], counts)  # the rest are locals
    # Where each document ends among the global rows: how many of the rows up to its end are global.
    bounds = np.concatenate(([0], np.cumsum(is_global)))[np.cumsum(counts)].tolist()
    global_rows = rows[is_global][:, POSITION_COLUMNS]
    return [global_rows[start:stop] for start, stop in zip([0, *bounds], bounds, strict=False)]


class ScipWriter:
    """Writes a new scip file. `finish` writes the symbols and closes it."""

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
        from gitindex.segment.scipsymbols import DocumentPositions  # late: readers need no numpy (UI-3)

        file = self._insert_document(storable.packed, blob=blob, context=context, syntax=syntax)
        self._document_positions.append(DocumentPositions(file, storable.hashes, storable.positions))
        for symbol, target, _ in storable.packed.links:
            self._linked_hashes.update((symbol, target))

    def add_tombstone(self, path: str, context: str) -> None:
        """Hide the path's documents in older segments."""
        self._insert_document(PackedDocument.tombstone(path), blob="", context=context, syntax="")

    def _insert_document(self, packed: PackedDocument, *, blob: str, context: str, syntax: str) -> int:
        """Returns the number of the document."""
        self.files += 1
        header = DocumentHeader(
            file=self.files,
            path=packed.path,
            blob=blob,
            context=context,
            digest=packed.digest if blob else b"",
            interface=packed.interface,
            syntax=syntax,
            unresolved=packed.unresolved,
            demoted=packed.demoted,
        )
        blobs = (packed.occurrences, packed.definitions, packed.hover, _pack_links(packed.links))
        self._db.execute("INSERT INTO scip_files VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", (*header, *blobs))
        self._db.executemany(
            "INSERT OR REPLACE INTO scip_links VALUES (?,?,?,?)",
            [(target, symbol, self.files, flags) for symbol, target, flags in packed.links],
        )
        return self.files

    def finish(
        self, symbol_columns: Sequence[SymbolColumns], external_hovers: Iterable[tuple[int, bytes]] = ()
    ) -> None:
        """Write the symbols and hover texts that the documents use, and close the file.

        `symbol_columns` may contain more symbols than the documents use; `external_hovers` are pairs of hash and text.
        """
        from concurrent.futures import ThreadPoolExecutor

        from gitindex.segment.scipsymbols import UsedSymbols

        used_symbols = UsedSymbols(symbol_columns, self._document_positions, self._linked_hashes)
        with ThreadPoolExecutor(1) as executor:  # compression releases the interpreter lock
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
    """Read-only access to one scip file. Does not know other segments: only a view combines them (SN-6)."""

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
        """The descriptions of a document's symbols, in the form that `semantic.describe` parses."""
        import zstandard

        return zstandard.ZstdDecompressor().decompress(
            self._read_column("hover", file), max_output_size=256 * 1024 * 1024
        )

    def postings(self, symbol: int) -> Iterator[Posting]:
        """The positions of a symbol, given by its hash."""
        packed_positions = self._find_in_block("scip_symbols", "hash", symbol)
        return iter(()) if packed_positions is None else fact_postings.unpack_symbol(packed_positions)

    def symbols(self) -> Iterator[tuple[int, bytes]]:
        """Hash and packed positions of every symbol, ascending."""
        for (block,) in self._db.execute("SELECT block FROM scip_symbols ORDER BY hash"):
            yield from blocks.items(block)

    def name(self, symbol: int) -> bytes | None:
        """The string of a symbol, given by its hash."""
        packed_positions = self._find_in_block("scip_symbols", "hash", symbol)
        if packed_positions is None:
            return None
        return self._read_name(fact_postings.read_name_number(packed_positions))

    def names(self) -> Iterator[tuple[int, bytes]]:
        """Hash and string of every symbol."""
        for (block,) in self._db.execute("SELECT data FROM scip_names ORDER BY block"):
            for text in symbol_strings.unpack_names(block):
                yield symbol_grammar.hash64(text), text

    def find_by_short_name(self, short: bytes) -> list[bytes]:
        """Symbols whose last descriptor has this name."""
        packed_numbers = self._find_in_block("scip_short", "key", symbol_grammar.hash64(short))
        if packed_numbers is None:
            return []
        numbers = accumulate(fact_postings.iter_varints(packed_numbers))  # stored as differences
        return [self._read_name(number) for number in numbers]

    def find_links(self, target: int) -> list[tuple[int, int, int]]:
        """(symbol, document number, flags) of the symbols that relate to `target`."""
        sql = "SELECT symbol, file, flags FROM scip_links WHERE target = ?"
        return list(self._db.execute(sql, (target,)))

    def external_hover(self, symbol: int) -> bytes | None:
        row = self._fetch_one("SELECT text FROM scip_external WHERE hash = ?", symbol)
        return None if row is None else row[0]

    def external_hovers(self) -> Iterator[tuple[int, bytes]]:
        yield from self._db.execute("SELECT hash, text FROM scip_external")

    def read_packed(self, header: DocumentHeader) -> PackedDocument:
        """The document in stored form, for a merge."""
        sql = "SELECT occurrences, definitions, hover, links FROM scip_files WHERE file = ?"
        occurrences, definitions, hover, links = self._fetch_one(sql, header.file)
        return PackedDocument(
            path=header.path,
            interface=header.interface,
            unresolved=header.unresolved,
            demoted=header.demoted,
            occurrences=occurrences,
            definitions=definitions,
            hover=hover,
            links=_unpack_links(links),
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
        """The value of a key. Blocks are stored under their lowest key, so only one block can contain it."""
        sql = f"SELECT block FROM {table} WHERE {column} <= ? ORDER BY {column} DESC LIMIT 1"  # noqa: S608
        row = self._fetch_one(sql, key)
        return None if row is None else blocks.find(row[0], key)

    def _fetch_one(self, sql: str, value: object) -> Any:
        return self._db.execute(sql, (value,)).fetchone()


def _pack_links(links: Sequence[SymbolLink]) -> bytes:
    return b"".join(_LINK_STRUCT.pack(*link) for link in links)


def _unpack_links(blob: bytes) -> tuple[SymbolLink, ...]:
    return tuple(_LINK_STRUCT.iter_unpack(blob))
