"""Decodes a SCIP file into documents ready for storage (SE-7, SE-8).

Two passes over the memory map. The first (`firstpass`) interns symbols, locates every occurrence in the tracked text
and compares that text with the symbol. Then everything that needs the whole index is available: the project's own
packages, all definitions, and the sibling that a contradicted reference meant. The second pass yields one
`DecodedDocument` at a time with definitions, hover text and relationships.

Only documents of regular tracked files are decoded, against their tracked bytes; `rejected` lists all others.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.errors import UnsafePath
from gitindex.extract.gc_pause import pause_gc
from gitindex.model.paths import path_key
from gitindex.scip import schema, symbol_grammar
from gitindex.scip.fact_postings import (
    DEFINITION_COLUMNS,
    DEMOTED,
    EXACT,
    OCCURRENCE_COLUMNS,
    QUALITY_SHIFT,
    REPAIRED,
)
from gitindex.scip.ranges import Ints
from gitindex.scip.reader import IndexFile, Tool
from gitindex.segment.scipfacts import SymbolLink
from gitindex.segment.scipsymbols import SymbolColumns
from gitindex.semantic import describe
from gitindex.semantic.document_tables import (
    DocumentSymbols,
    SymbolNumbering,
    collect_definition_rows,
    drop_repeated_rows,
    sort_rows,
)
from gitindex.semantic.firstpass import BATCH_OCCURRENCES, ROLES, FirstPass, Int32Array
from gitindex.semantic.interning import DefinedSymbols, Interner, SymbolResolver, SymbolTable, collect_defined
from gitindex.semantic.package_names import NAMELESS, Naming

__all__ = [
    "DEMOTED",
    "EXACT",
    "QUALITY_SHIFT",
    "REPAIRED",
    "DecodedIndex",
    "DecodedDocument",
    "ReadBlob",
    "Summary",
]
ReadBlob = Callable[[str], bytes | None]
_COUNT_FIELDS = ("damaged", "documents", "occurrences", "demoted", "repaired", "unresolved", "out_of_range")


def parse_document_path(raw: bytes, prefix: str = "") -> str:
    """The path key of a document. Raises UnsafePath, with the reason, for one that cannot be a tracked file."""
    text = raw.decode("utf-8", "replace")
    if not text or text.startswith("/"):
        raise UnsafePath("absolute path")
    try:
        return path_key(posixpath.normpath(posixpath.join(prefix, text)))
    except UnsafePath as error:
        raise UnsafePath("leaves the repository") from error


class DecodedDocument(NamedTuple):
    """One file's facts. Symbols are numbered per file: `hashes` (global, ascending) first, then the locals."""

    path: str
    hashes: npt.NDArray[np.int64]
    locals: int  # how many there are
    occurrences: Int32Array  # columns of `Occurrence`; sorted by position, no duplicates
    definitions: Int32Array  # columns of `DefinitionRow`
    relationships: list[SymbolLink]
    hover: bytes  # as `describe.parse_descriptions` reads it
    interface_hash: str  # of the symbols and texts that other files can see
    unresolved: int


@dataclass(slots=True)
class Summary:
    """Counts of one decoding, of occurrences unless the comment says otherwise."""

    tool: Tool
    truncated: bool
    damaged: int = 0  # documents that do not parse
    documents: int = 0  # documents
    occurrences: int = 0
    demoted: int = 0
    repaired: int = 0
    unresolved: int = 0
    out_of_range: int = 0
    rejected: list[tuple[str, str]] = field(default_factory=list)  # (path as written, reason)

    def add(self, other: Summary) -> None:
        """Add the counts of the other half of the same file."""
        for name in _COUNT_FIELDS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.rejected += other.rejected


class DecodedIndex:
    """An index after the first pass; `documents` is the second."""

    def __init__(
        self,
        file: IndexFile,
        read: ReadBlob,
        *,
        prefix: str = "",
        store_defines: Callable[[int], bool] | None = None,
        naming: Naming = NAMELESS,
        document_numbers: Iterable[int] | None = None,
        exchange_defined: Callable[[DefinedSymbols], DefinedSymbols] | None = None,
    ) -> None:
        """Does the first pass.

        `prefix` is the project root within the repository; `store_defines` says whether the store defines a symbol, by
        hash. To decode one half of the file, pass the numbers of its documents and `exchange_defined`, which gets the
        symbols that they define and returns those that all documents define.
        """
        self._file = file
        self._prefix = prefix
        self.summary = Summary(file.tool(), file.truncated)
        first_pass = FirstPass(self.summary.tool.name)
        with pause_gc():
            all_numbers = range(len(file.layout.documents))
            self._read_documents(
                first_pass, read, all_numbers if document_numbers is None else document_numbers
            )
        self._parts = first_pass.parts
        self._interner = first_pass.interner
        self.summary.out_of_range = first_pass.out_of_range
        parts = (part for parts in self._parts.values() for part in parts)
        defined_numbers = {
            number for part in parts for number in part.ids[part.defined].tolist() if number >= 0
        }
        defined = collect_defined(first_pass.interner, defined_numbers)
        external_symbols = frozenset(info.symbol for info in file.externals(schema.raw_messages()))
        self._resolver = SymbolResolver(
            first_pass.interner,
            exchange_defined(defined) if exchange_defined else defined,
            external_symbols,
            store_defines,
            naming,
        )
        self._repair_contradictions()
        self._table = SymbolTable(first_pass.interner, self._resolver)
        # Interned number → number of its description in the current document. Numbers of locals are negative: they
        # index from the end.
        self._description_numbers = np.full(
            len(first_pass.interner.strings) + first_pass.interner.local_count + 2, -1, np.int32
        )
        self.summary.damaged = file.damaged

    def symbols(self) -> Iterator[tuple[int, bytes]]:
        """(hash, normalized symbol) of every global symbol that occurs."""
        return zip(self._table.hashes.tolist(), self._table.names, strict=True)

    def symbols_by_name(self) -> SymbolColumns:
        """The same symbols sorted by string, for storage."""
        names = self._table.names
        order = sorted(range(len(names)), key=names.__getitem__)
        number_by_name = {name: number for number, name in enumerate(dict.fromkeys(self._interner.names))}
        name_numbers = np.array([number_by_name[self._interner.names[number]] for number in order], np.int64)
        name_hashes = np.frombuffer(symbol_grammar.hash_all(number_by_name), "<i8")
        sorted_names = [names[number] for number in order]
        return SymbolColumns(self._table.hashes[order], sorted_names, name_hashes[name_numbers])

    def defines(self, symbol_hash: int) -> bool:
        return symbol_hash in self._defined_hashes

    @cached_property
    def _defined_hashes(self) -> set[int]:
        numbered = zip(self._interner.strings, self._table.hashes.tolist(), strict=True)
        return {value for symbol, value in numbered if symbol in self._resolver.defined}

    def externals(self) -> Iterator[tuple[int, bytes, describe.Description]]:
        """(hash, symbol, description) of the symbols of other packages that the tool describes."""
        for info in self._file.externals(schema.raw_messages()):
            if info.symbol and not symbol_grammar.is_local(info.symbol):
                name = self._resolver.normalize(info.symbol)
                yield symbol_grammar.hash64(name), name, describe.describe(name, info)

    def documents(self) -> Iterator[DecodedDocument]:
        """The second pass, in order of path. The counts in `summary` are complete when it is exhausted."""
        batch: list[str] = []
        weight = 0
        for path in sorted(self._parts):
            batch.append(path)
            weight += sum(len(part.ids) for part in self._parts[path])
            if weight >= BATCH_OCCURRENCES:
                yield from self._finish_documents(batch)
                batch, weight = [], 0
        yield from self._finish_documents(batch)

    # -- first pass -----------------------------------------------------------------------------

    def _read_documents(self, first_pass: FirstPass, read: ReadBlob, numbers: Iterable[int]) -> None:
        messages = schema.wire_messages()
        for number in numbers:
            message = self._file.document(self._file.layout.documents[number], messages)
            path = None if message is None else self._accept_path(message.relative_path)
            if path is None:
                continue
            data = read(path)
            if data is None:
                self.summary.rejected.append((path, "not a tracked file"))
            else:
                first_pass.add(path, number, message, data)
        first_pass.flush()

    def _accept_path(self, raw: bytes) -> str | None:
        try:
            return parse_document_path(raw, self._prefix)
        except UnsafePath as error:
            self.summary.rejected.append((raw.decode("utf-8", "replace"), error.message))
            return None

    # -- between the passes -----------------------------------------------------------------------

    def _repair_contradictions(self) -> None:
        """Give a contradicted occurrence the sibling symbol that its text names, or else a lower quality."""
        siblings: dict[tuple[int, bytes], int | None] = {}
        for parts in self._parts.values():
            for part in parts:
                for position, text in part.contradicted:
                    key = (int(part.ids[position]), text)
                    if key not in siblings:
                        siblings[key] = self._resolver.find_sibling(*key)
                    sibling = siblings[key]
                    part.rows[position, ROLES] |= (DEMOTED if sibling is None else REPAIRED) << QUALITY_SHIFT
                    if sibling is not None:
                        part.ids[position] = sibling

    # -- second pass ------------------------------------------------------------------------------

    def _finish_documents(self, paths: list[str]) -> Iterator[DecodedDocument]:
        parts = [part for path in paths for part in self._parts[path]]
        if not parts:
            return
        owner = np.repeat(
            np.arange(len(paths)), [sum(len(part.ids) for part in self._parts[path]) for path in paths]
        )
        ids = np.concatenate([part.ids for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        unresolved_counts = self._count_unresolved(owner, ids, rows, len(paths))
        numbering = SymbolNumbering(self._table, owner, ids, len(paths))
        # Both tables hold the documents of the batch one after the other; column 0 is the document.
        table = np.column_stack((owner, numbering.index, rows)).astype(np.int32)
        table = drop_repeated_rows(table[sort_rows(table)])
        definitions = collect_definition_rows(parts, owner, numbering.index, ids, rows)
        document_numbers = np.arange(len(paths) + 1)
        occurrence_bounds = np.searchsorted(table[:, 0], document_numbers)
        definition_bounds = np.searchsorted(definitions[:, 0], document_numbers)
        for number, path in enumerate(paths):
            occurrences = table[occurrence_bounds[number] : occurrence_bounds[number + 1], 1:]
            own_definitions = definitions[definition_bounds[number] : definition_bounds[number + 1], 1:]
            unresolved = int(unresolved_counts[number])
            self._add_to_summary(occurrences[:, OCCURRENCE_COLUMNS.flags], unresolved)
            yield self._build_document(
                path, numbering.symbols_of(number), occurrences, own_definitions, unresolved
            )

    def _build_document(
        self,
        path: str,
        symbol_numbers: DocumentSymbols,
        occurrences: Int32Array,
        definitions: Int32Array,
        unresolved: int,
    ) -> DecodedDocument:
        first_span, *other_spans = (self._file.layout.documents[part.number] for part in self._parts[path])
        message = self._file.document(first_span, schema.wire_messages())
        for span in other_spans:
            message.MergeFrom(self._file.document(span, schema.wire_messages()))
        if other_spans:
            _keep_first(message.symbols)
        infos = list(message.symbols)
        find_id, hash_of, names = self._interner.ids.get, self._table.hash_of, self._table.names
        symbol_names = [info.symbol for info in infos]
        symbol_ids = [find_id(name, Interner.EMPTY) for name in symbol_names]
        visible_texts: list[bytes] = []
        relationships: list[SymbolLink] = []
        for name, number, info in zip(symbol_names, symbol_ids, infos, strict=True):
            if number >= 0 or not name.startswith(b"local "):
                documentation = info.documentation
                normal_name = names[number] if number >= 0 else self._resolver.normalize(name)
                visible_texts.append(normal_name + b"\0" + documentation[0] if documentation else normal_name)
                if info.relationships:
                    relationships += [
                        (hash_of(name), hash_of(link.target), link.flags)
                        for link in describe.list_relationships(info)
                    ]
        return DecodedDocument(
            path=path,
            hashes=symbol_numbers.hashes,
            locals=len(symbol_numbers.local_ids),
            occurrences=occurrences,
            definitions=self._add_descriptions(definitions, symbol_ids, symbol_numbers),
            relationships=relationships,
            hover=describe.serialize_descriptions(message),
            interface_hash=hashlib.blake2b(b"\0\0".join(sorted(visible_texts)), digest_size=16).hexdigest(),
            unresolved=unresolved,
        )

    def _add_descriptions(
        self, definitions: Int32Array, symbol_ids: list[int], symbol_numbers: DocumentSymbols
    ) -> Int32Array:
        """Definition rows with the number of their description, after rows for locals that are only described.

        `definitions` is a slice of `collect_definition_rows`: its last column is the interned symbol.
        """
        columns, global_count = DEFINITION_COLUMNS, len(symbol_numbers.hashes)
        description_numbers = self._description_numbers
        description_numbers[symbol_ids] = np.arange(len(symbol_ids))
        description_numbers[Interner.EMPTY] = -1
        ids = definitions[:, columns.description]
        rows = np.column_stack((definitions[:, : columns.description], description_numbers[ids]))
        local_descriptions = description_numbers[symbol_numbers.local_ids]
        description_numbers[symbol_ids] = -1  # empty again, for the next document
        only_described = local_descriptions >= 0
        only_described[definitions[ids < 0, columns.symbol] - global_count] = False
        if not only_described.any():
            return rows
        extra_rows = np.zeros((int(only_described.sum()), len(columns)), dtype=np.int32)
        extra_rows[:, columns.symbol] = global_count + np.flatnonzero(only_described)
        extra_rows[:, columns.description] = local_descriptions[only_described]
        return np.concatenate((extra_rows, rows))

    def _count_unresolved(self, owner: Ints, ids: Int32Array, rows: Int32Array, count: int) -> Ints:
        """Per document: references to locals that it does not define and to own symbols without any definition."""
        is_definition = (rows[:, ROLES] & schema.DEFINITION) != 0
        is_local = ids < 0
        width = self._interner.local_count + 2
        keys = owner * width - ids  # one number per document and local, whose ids are negative
        defined_keys = np.unique(keys[is_local & is_definition])
        positions = np.searchsorted(defined_keys, keys)
        defined_here = np.zeros(len(ids), dtype=np.bool_)
        if len(defined_keys):
            defined_here = defined_keys[np.minimum(positions, len(defined_keys) - 1)] == keys
        is_unresolved = is_local & ~defined_here
        if len(self._table.unresolved):
            is_unresolved |= ~is_local & self._table.unresolved[np.maximum(ids, 0)]
        return np.bincount(owner[is_unresolved & ~is_definition], minlength=count)

    def _add_to_summary(self, flags: Int32Array, unresolved: int) -> None:
        quality = flags >> QUALITY_SHIFT
        self.summary.documents += 1
        self.summary.occurrences += len(flags)
        self.summary.demoted += int((quality == DEMOTED).sum())
        self.summary.repaired += int((quality == REPAIRED).sum())
        self.summary.unresolved += unresolved


def _keep_first(infos: Any) -> None:
    """Keep one description per symbol: several documents of one path repeat them."""
    first_infos = list({info.symbol: info for info in reversed(infos)}.values())[::-1]
    del infos[:]
    infos.extend(first_infos)
