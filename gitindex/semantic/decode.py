"""From a SCIP file to rows ready for storage, document by document (SE-7, SE-8).

Two passes over the memory map. The first (`firstpass`) interns symbols, places every occurrence in the
file's own text and weighs the text against the symbol. Then everything that needs the whole index is known:
which packages are the project's own, what is defined, which sibling a contradicted reference meant. The
second pass yields one `Document` at a time with definitions, hover text and relationships.

Only regular tracked files are taken, by their tracked bytes; every other document is named in `rejected`.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.errors import UnsafePath
from gitindex.model.paths import path_key
from gitindex.scip import schema, symbols
from gitindex.scip.ranges import Ints
from gitindex.scip.reader import IndexFile, Tool
from gitindex.semantic import describe
from gitindex.semantic.firstpass import BATCH_OCCURRENCES, FirstPass, Part, Small
from gitindex.semantic.interning import Interner, SymbolTable

EXACT, DEMOTED, REPAIRED = 0, 1, 2
QUALITY_SHIFT = 7  # flags = SCIP roles (7 bits) | quality << 7
ReadBlob = Callable[[str], bytes | None]


class Document(NamedTuple):
    """One file's facts. Symbols are numbered per file: `hashes` (global, ascending) first, then the locals.

    `occurrences`: symbol, line, column, end line, end column, flags; sorted by position, no duplicates.
    `definitions`: symbol, line, column, end line, end column, the four of the enclosing range (0 where
    unknown), number of the description within `hover` (-1 without). Line 0: described here, defined
    elsewhere.
    """

    path: str
    hashes: npt.NDArray[np.int64]
    locals: int
    occurrences: Small
    definitions: Small
    relationships: list[tuple[int, int, int]]  # symbol hash, target hash, describe.* flags
    hover: bytes  # describe.read
    interface_hash: str  # of what other files can see
    unresolved: int


@dataclass(slots=True)
class Summary:
    """What the file held and what became of it; counts are of occurrences unless named otherwise."""

    tool: Tool
    truncated: bool
    damaged: int = 0  # documents that do not parse
    documents: int = 0
    occurrences: int = 0
    demoted: int = 0
    repaired: int = 0
    unresolved: int = 0
    out_of_range: int = 0
    rejected: list[tuple[str, str]] = field(default_factory=list)  # (path as written, reason)


class Decoded:
    """An index after the first pass; `documents` is the second."""

    def __init__(
        self, file: IndexFile, read: ReadBlob, *, prefix: str = "", known: Callable[[int], bool] | None = None
    ) -> None:
        """`prefix` is the project root within the repository; `known` tells symbols the store defines
        already.
        """
        self._file = file
        self._prefix = prefix
        self.summary = Summary(file.tool(), file.truncated)
        first = FirstPass(self.summary.tool.name)
        self._take_documents(first, read)
        self._parts = first.parts
        self._interner = first.interner
        self.summary.out_of_range = first.out_of_range
        defined = {
            i for parts in self._parts.values() for p in parts for i in p.ids[p.defined].tolist() if i >= 0
        }
        described = frozenset(info.symbol for info in file.externals(schema.raw()))
        self._table = SymbolTable(first.interner, defined, described, known)
        # Interned number → number of its description in the document at hand; locals count from the end.
        self._described = np.full(len(first.interner.strings) + first.interner.local_count + 2, -1, np.int32)
        self._repair()
        self.summary.damaged = file.damaged

    def symbols(self) -> Iterator[tuple[int, bytes]]:
        """(hash, normalised symbol) of every global symbol that occurs."""
        return iter(self._table.strings.items())

    def defines(self, symbol_hash: int) -> bool:
        return symbol_hash in self._table.defined_hashes

    def externals(self) -> Iterator[tuple[int, bytes, describe.Description]]:
        """Symbols of other packages with the hover text the tool gave: hash, symbol, description."""
        for info in self._file.externals(schema.raw()):
            if info.symbol and not symbols.is_local(info.symbol):
                name = self._table.normal(info.symbol)
                yield symbols.hash64(name), name, describe.describe(name, info)

    def documents(self) -> Iterator[Document]:
        """In order of path. Counts in `summary` are complete when it is exhausted."""
        batch: list[str] = []
        weight = 0
        for path in sorted(self._parts):
            batch.append(path)
            weight += sum(len(part.ids) for part in self._parts[path])
            if weight >= BATCH_OCCURRENCES:
                yield from self._finish(batch)
                batch, weight = [], 0
        yield from self._finish(batch)

    # -- first pass -----------------------------------------------------------------------------

    def _take_documents(self, first: FirstPass, read: ReadBlob) -> None:
        messages = schema.raw()
        for number, span in enumerate(self._file.layout.documents):
            message = self._file.document(span, messages)
            path = None if message is None else self._accept_path(message.relative_path)
            if path is None:
                continue
            data = read(path)
            if data is None:
                self.summary.rejected.append((path, "not a tracked file"))
            else:
                first.add(path, number, message, data)
        first.flush()

    def _accept_path(self, raw: bytes) -> str | None:
        text = raw.decode("utf-8", "replace")
        if not text or text.startswith("/"):
            self.summary.rejected.append((text, "absolute path"))
            return None
        try:
            return path_key(posixpath.normpath(posixpath.join(self._prefix, text)))
        except UnsafePath:
            self.summary.rejected.append((text, "leaves the repository"))
            return None

    # -- between the passes -----------------------------------------------------------------------

    def _repair(self) -> None:
        """A contradicted occurrence gets the sibling its text names, or only a lower quality."""
        siblings: dict[tuple[int, bytes], int | None] = {}
        for parts in self._parts.values():
            for part in parts:
                for at, text in part.contradicted:
                    key = (int(part.ids[at]), text)
                    if key not in siblings:
                        siblings[key] = self._table.sibling(*key)
                    sibling = siblings[key]
                    part.rows[at, 4] |= (DEMOTED if sibling is None else REPAIRED) << QUALITY_SHIFT
                    if sibling is not None:
                        part.ids[at] = sibling

    # -- second pass ------------------------------------------------------------------------------

    def _finish(self, paths: list[str]) -> Iterator[Document]:
        parts = [part for path in paths for part in self._parts[path]]
        if not parts:
            return
        owner = np.repeat(
            np.arange(len(paths)), [sum(len(part.ids) for part in self._parts[path]) for path in paths]
        )
        ids = np.concatenate([part.ids for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        lost = self._unresolved(owner, ids, rows, len(paths))
        numbering = _Numbering(self._table, owner, ids, len(paths))
        table = np.column_stack((owner, numbering.index, rows)).astype(np.int32)
        table = _distinct(table[_order(table)])
        bounds = np.searchsorted(table[:, 0], np.arange(len(paths) + 1))
        at = 0
        for number, path in enumerate(paths):
            own = self._parts[path]
            size = sum(len(part.ids) for part in own)
            occurrences = table[bounds[number] : bounds[number + 1], 1:]
            hashes, local_numbers = numbering.of(number)
            index = numbering.index[at : at + size]
            at += size
            yield self._document(path, own, hashes, local_numbers, index, occurrences, int(lost[number]))

    def _document(
        self,
        path: str,
        parts: list[Part],
        hashes: npt.NDArray[np.int64],
        local_numbers: dict[int, int],
        index: Ints,
        occurrences: Small,
        unresolved: int,
    ) -> Document:
        message = self._file.document(self._file.layout.documents[parts[0].number], schema.raw())
        for part in parts[1:]:
            message.MergeFrom(self._file.document(self._file.layout.documents[part.number], schema.raw()))
        infos = list(message.symbols)
        find, hash_of, names = self._interner.ids.get, self._table.hash_of, self._table.names
        spelled = [info.symbol for info in infos]
        interned = [find(name, Interner.EMPTY) for name in spelled]
        visible: list[bytes] = []
        links: list[tuple[int, int, int]] = []
        for name, number, info in zip(spelled, interned, infos, strict=True):
            if number >= 0 or not name.startswith(b"local "):
                documentation = info.documentation
                shown = names[number] if number >= 0 else self._table.normal(name)
                visible.append(shown + b"\0" + documentation[0] if documentation else shown)
                if info.relationships:
                    links += [(hash_of(name), hash_of(to), flags) for to, flags in describe.links(info)]
        definitions = self._definitions(parts, index, interned, local_numbers)
        self._count(occurrences[:, 5], unresolved)
        interface = hashlib.blake2b(b"\0\0".join(sorted(visible)), digest_size=16).hexdigest()
        hover = describe.blob_of(message)
        return Document(
            path, hashes, len(local_numbers), occurrences, definitions, links, hover, interface, unresolved
        )

    def _definitions(
        self, parts: list[Part], index: Ints, interned: list[int], local_numbers: dict[int, int]
    ) -> Small:
        """`interned` are the described symbols in the order of their descriptions."""
        described = self._described
        described[interned] = np.arange(len(interned))
        described[Interner.EMPTY] = -1
        tables, offset = [], 0
        for part in parts:
            ids = part.ids[part.defined]
            where = index[part.defined + offset]
            tables.append(
                np.column_stack((where, part.rows[part.defined, :4], part.enclosing, described[ids]))
            )
            offset += len(part.ids)
        here = {i for part in parts for i in part.ids[part.defined].tolist() if i < 0}
        extra = [
            (number, *(0,) * 8, described[i])
            for i, number in local_numbers.items()
            if i not in here and described[i] >= 0
        ]
        if extra:
            tables.append(np.array(extra, dtype=np.int32))
        described[interned] = -1
        table = tables[0] if len(tables) == 1 else np.concatenate(tables)
        return _distinct(table[np.lexsort((table[:, 0], table[:, 2], table[:, 1]))].astype(np.int32))

    def _unresolved(self, owner: Ints, ids: Small, rows: Small, count: int) -> Ints:
        """Per document: references to locals nobody defines there and to own symbols nobody defines at
        all.
        """
        defines = (rows[:, 4] & schema.DEFINITION) != 0
        local = ids < 0
        width = self._interner.local_count + 2
        keys = owner * width - ids
        known = np.unique(keys[local & defines])
        at = np.searchsorted(known, keys)
        defined_here = np.zeros(len(ids), dtype=np.bool_)
        if len(known):
            defined_here = known[np.minimum(at, len(known) - 1)] == keys
        lost = local & ~defined_here
        if len(self._table.unresolved):
            lost |= ~local & self._table.unresolved[np.maximum(ids, 0)]
        return np.bincount(owner[lost & ~defines], minlength=count)

    def _count(self, flags: Small, unresolved: int) -> None:
        quality = flags >> QUALITY_SHIFT
        self.summary.documents += 1
        self.summary.occurrences += len(flags)
        self.summary.demoted += int((quality == DEMOTED).sum())
        self.summary.repaired += int((quality == REPAIRED).sum())
        self.summary.unresolved += unresolved


class _Numbering:
    """Per document numbers for its symbols: globals by ascending hash, then locals."""

    def __init__(self, table: SymbolTable, owner: Ints, ids: Small, documents: int) -> None:
        self._table, self._globals = table, len(table.sorted_hashes)
        rank = np.where(ids < 0, self._globals - ids, 0)
        if self._globals:
            rank = np.where(ids < 0, rank, table.rank[np.maximum(ids, 0)])
        width = int(rank.max(initial=0)) + 1
        self._keys, inverse = np.unique(owner * width + rank, return_inverse=True)
        self._ranks = self._keys % width
        self._bounds = np.searchsorted(self._keys, np.arange(documents + 1) * width)
        self.index: Ints = inverse - self._bounds[owner]

    def of(self, document: int) -> tuple[npt.NDArray[np.int64], dict[int, int]]:
        """Hashes of the document's globals, and interned number → number within the document for its
        locals.
        """
        ranks = self._ranks[self._bounds[document] : self._bounds[document + 1]]
        count = int(np.searchsorted(ranks, self._globals))
        local = (self._globals - ranks[count:]).tolist()
        return self._table.sorted_hashes[ranks[:count]], {i: count + n for n, i in enumerate(local)}


def _order(table: Small) -> Ints:
    """Row numbers sorted by document, start, end, symbol, flags. Packed keys: two sorts instead of seven."""
    owner, number, line, column, end_line, end_column, flags = (
        table[:, i].astype(np.int64) for i in range(7)
    )
    start = owner << 44 | line << 20 | np.minimum(column, 0xFFFFF)
    height = np.minimum(end_line - line, 0xFFFF)
    rest = (
        height << 47
        | np.minimum(end_column, 0xFFFFF) << 27
        | np.minimum(number, 0x3FFFF) << 9
        | flags & 0x1FF
    )
    return np.lexsort((rest, start))


def _distinct(table: Small) -> Small:
    """A sorted table without repeated rows."""
    if len(table) < 2:
        return table
    return table[np.concatenate(([True], (table[1:] != table[:-1]).any(axis=1)))]
