"""From a SCIP file to rows ready for storage, document by document (SE-7, SE-8).

Two passes over the memory map. The first interns symbols, places every occurrence in the file's own text and
weighs the text against the symbol; only small arrays stay. Then everything that needs the whole index is
known: which packages are the project's own, what is defined, which sibling a contradicted reference meant.
The second pass yields one `Document` at a time with definitions, hover text and relationships.

Only regular tracked files are taken, by their tracked bytes; every other document is named in `rejected`.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gitindex.errors import UnsafePath
from gitindex.model.paths import path_key
from gitindex.scip import schema, symbols
from gitindex.scip.placement import Source
from gitindex.scip.positions import Rules
from gitindex.scip.ranges import Ints, Ranges, decode_all
from gitindex.scip.reader import IndexFile, Tool
from gitindex.semantic import describe
from gitindex.semantic.agreement import Aliases, agrees
from gitindex.semantic.interning import Interner

EXACT, DEMOTED, REPAIRED = 0, 1, 2
QUALITY_SHIFT = 7  # flags = SCIP roles (7 bits) | quality << 7
ReadBlob = Callable[[str], bytes | None]

_RULES = {
    "scip-python": Rules(schema.UTF16, bom_is_column=True),
    "scip-typescript": Rules(schema.UTF16, unicode_breaks=True),
    "scip-java": Rules(schema.UTF16),
    "scip-dotnet": Rules(schema.UTF16),
}


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
    occurrences: npt.NDArray[np.int32]
    definitions: npt.NDArray[np.int32]
    relationships: list[tuple[int, int, int]]  # symbol hash, target hash, describe.* flags
    hover: bytes  # describe.read
    interface_hash: str  # of what other files can see
    unresolved: int


@dataclass(slots=True)
class Summary:
    """What the file held and what became of it; counts are of occurrences unless named otherwise."""

    tool: Tool
    truncated: bool
    damaged: int = 0
    documents: int = 0
    occurrences: int = 0
    demoted: int = 0
    repaired: int = 0
    unresolved: int = 0
    out_of_range: int = 0
    rejected: list[tuple[str, str]] = field(default_factory=list)  # (path as written, reason)


class _Part(NamedTuple):
    """What the first pass keeps of one document."""

    number: int  # which document of the file
    ids: npt.NDArray[np.int32]
    rows: npt.NDArray[np.int32]  # line, column, end_line, end_column, flags: one row per occurrence
    defined: npt.NDArray[np.int32]  # positions of definitions within ids
    enclosing: npt.NDArray[np.int32]  # one row of four per definition; 0 where unknown
    contradicted: list[tuple[int, bytes]]  # (position within ids, text found there)


class Decoded:
    """An index after the first pass; `documents` is the second."""

    def __init__(
        self, file: IndexFile, read: ReadBlob, *, prefix: str = "", known: Callable[[int], bool] | None = None
    ) -> None:
        """`prefix` is the project root within the repository; `known` tells symbols the store already
        defines.
        """
        self._file = file
        self._prefix = prefix
        self.summary = Summary(file.tool(), file.truncated)
        self._interner = Interner()
        self._parts: dict[str, list[_Part]] = {}
        self._first_pass(read)
        defined = {
            int(i) for parts in self._parts.values() for p in parts for i in p.ids[p.defined] if i >= 0
        }
        described = [info.symbol for info in file.externals(schema.raw())]
        self._table = self._interner.resolve(defined, described, known)
        self._repair()
        self.summary.damaged = file.damaged

    def symbols(self) -> Iterator[tuple[int, bytes]]:
        """(hash, normalised symbol) of every global symbol that occurs."""
        return iter(self._table.strings.items())

    def defined(self, symbol_hash: int) -> bool:
        return symbol_hash in self._table.defined_hashes

    def externals(self) -> Iterator[tuple[int, bytes, describe.Description]]:
        """Symbols of other packages with the hover text the tool gave: hash, symbol, description."""
        for info in self._file.externals(schema.raw()):
            if info.symbol and not symbols.is_local(info.symbol):
                name = self._table.normal(info.symbol)
                yield symbols.hash64(name), name, describe.describe(name, info)

    def documents(self) -> Iterator[Document]:
        """In order of path. Counts in `summary` are complete when it is exhausted."""
        for path in sorted(self._parts):
            parts = self._parts[path]
            message = schema.raw().Document()
            for part in parts:
                message.MergeFrom(self._file.document(self._file.layout.documents[part.number], schema.raw()))
            yield self._finish(path, parts, message)

    # -- first pass -----------------------------------------------------------------------------

    def _first_pass(self, read: ReadBlob) -> None:
        messages = schema.raw()
        blobs: dict[str, bytes | None] = {}
        for number, span in enumerate(self._file.layout.documents):
            message = self._file.document(span, messages)
            if message is None:
                continue
            path = self._accept_path(message.relative_path)
            if path is None:
                continue
            data = blobs[path] if path in blobs else read(path)
            if data is None:
                self.summary.rejected.append((path, "not a tracked file"))
                continue
            if path in self._parts:
                blobs[path] = data
            self._parts.setdefault(path, []).append(self._read_part(number, message, data))

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

    def _read_part(self, number: int, message: Any, data: bytes) -> _Part:
        source = Source(data, self._rules(message))
        found = [
            (o.range, o.symbol, o.symbol_roles, o.single_line_range, o.multi_line_range)
            for o in message.occurrences
        ]
        packed, names, roles_seen, single, multi = zip(*found, strict=True) if found else ((),) * 5
        ids = np.fromiter(map(self._interner.ids.__getitem__, names), dtype=np.int32, count=len(names))
        roles = np.fromiter(roles_seen, dtype=np.int64, count=len(names)) & 127
        ranges = decode_all(packed, single, multi)
        if not all(packed) and not any(single) and not any(multi):
            ranges = self._unpacked(number, ranges)
        placed = source.place(ranges)
        rows = np.stack((*placed[2:6], roles), axis=1).astype(np.int32)
        keep = placed.good & (ids != Interner.EMPTY)
        self.summary.out_of_range += int(len(keep) - placed.good.sum())
        kept = np.flatnonzero(keep)
        contradicted = self._weigh(data, ids[kept], placed.start[kept], placed.end[kept], roles[kept])
        defined = np.flatnonzero(roles[kept] & schema.DEFINITION)
        enclosing = _enclosing(source, [message.occurrences[int(kept[i])] for i in defined])
        return _Part(number, ids[kept], rows[kept], defined.astype(np.int32), enclosing, contradicted)

    def _rules(self, message: Any) -> Rules:
        rules = _RULES.get(self.summary.tool.name, Rules(schema.UTF8))
        encoding = message.position_encoding
        return rules if not encoding else Rules(encoding, rules.unicode_breaks, rules.bom_is_column)

    def _unpacked(self, number: int, ranges: Ranges) -> Ranges:
        """Old writers may spell a range as separate integers, which the raw schema cannot see."""
        message = self._file.document(self._file.layout.documents[number], schema.plain())
        for at, occurrence in enumerate(message.occurrences):
            parts = list(occurrence.range)
            if len(parts) in (3, 4):
                line, column, *end = parts
                values = (line, column, *end) if len(end) == 2 else (line, column, line, *end)
                for target, value in zip(ranges, values, strict=True):
                    target[at] = value
        return ranges

    def _weigh(
        self, data: bytes, ids: npt.NDArray[np.int32], start: Ints, end: Ints, roles: Ints
    ) -> list[tuple[int, bytes]]:
        """Positions of global occurrences whose text contradicts their symbol, with that text."""
        which = np.flatnonzero(ids >= 0)
        names = self._interner.names
        spans = zip(
            which.tolist(), ids[which].tolist(), start[which].tolist(), end[which].tolist(), strict=True
        )
        differing = [(at, i, data[a:b]) for at, i, a, b in spans if data[a:b] != names[i]]
        aliases = Aliases(data)
        verdicts: dict[tuple[int, bytes], bool] = {}
        out = []
        for at, i, text in differing:
            last = self._interner.tails[i]
            if last is None or (b"\n" in text and roles[at] & schema.DEFINITION):
                continue
            if (i, text) not in verdicts:
                verdicts[i, text] = agrees(text, self._interner.strings[i], last, aliases)
            if not verdicts[i, text]:
                out.append((at, text))
        return out

    # -- between the passes -----------------------------------------------------------------------

    def _repair(self) -> None:
        """Contradicted occurrences get the sibling their text names where there is one, else only a lower
        quality.
        """
        for parts in self._parts.values():
            for part in parts:
                for at, text in part.contradicted:
                    sibling = self._table.sibling(int(part.ids[at]), text)
                    quality = DEMOTED if sibling is None else REPAIRED
                    part.rows[at, 4] |= quality << QUALITY_SHIFT
                    if sibling is not None:
                        part.ids[at] = sibling

    # -- second pass ------------------------------------------------------------------------------

    def _finish(self, path: str, parts: list[_Part], message: Any) -> Document:
        ids = np.concatenate([part.ids for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        unresolved = self._count_unresolved(ids, rows)
        hashes, index, local_ids = self._number(ids)
        infos = list(message.symbols)
        definitions = self._definitions(parts, index, infos, local_ids)
        order = np.lexsort((rows[:, 4], index, rows[:, 3], rows[:, 2], rows[:, 1], rows[:, 0]))
        occurrences = _distinct(np.column_stack((index, rows))[order].astype(np.int32))
        self._count(occurrences[:, 5], unresolved)
        hash_of = self._table.hash_of
        relationships = [(hash_of(a), hash_of(b), flags) for a, b, flags in describe.links(infos)]
        interface = self._interface(infos)
        hover = describe.blob_of(message)
        return Document(
            path,
            hashes,
            len(local_ids),
            occurrences,
            definitions,
            relationships,
            hover,
            interface,
            unresolved,
        )

    def _number(
        self, ids: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], dict[int, int]]:
        """Hashes of the file's global symbols, each occurrence's number, and numbers for its locals."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        first_global = int(np.searchsorted(distinct, 0))
        own_hashes = self._table.hashes[distinct[first_global:]]
        hashes = np.unique(own_hashes)
        numbers = np.concatenate((len(hashes) + np.arange(first_global), np.searchsorted(hashes, own_hashes)))
        local_ids = {int(i): len(hashes) + n for n, i in enumerate(distinct[:first_global])}
        return hashes, numbers[inverse], local_ids

    def _count_unresolved(self, ids: npt.NDArray[np.int32], rows: npt.NDArray[np.int32]) -> int:
        defines = (rows[:, 4] & schema.DEFINITION) != 0
        local = ids < 0
        known_locals = set(ids[local & defines].tolist())
        lost = sum(1 for i in ids[local & ~defines].tolist() if i not in known_locals)
        return lost + int(self._table.unresolved[ids[~local & ~defines]].sum())

    def _definitions(
        self,
        parts: list[_Part],
        index: npt.NDArray[np.int64],
        infos: list[Any],
        local_ids: dict[int, int],
    ) -> npt.NDArray[np.int32]:
        described = {info.symbol: number for number, info in enumerate(infos)}
        name_of, offset, tables = self._interner.name_of, 0, []
        for part in parts:
            numbers = [described.get(name_of(i), -1) for i in part.ids[part.defined].tolist()]
            index_here = index[part.defined + offset]
            tables.append(np.column_stack((index_here, part.rows[part.defined, :4], part.enclosing, numbers)))
            offset += len(part.ids)
        table = np.concatenate(tables)
        here = set(table[:, 0].tolist())
        ids = self._interner.ids
        rest = ((local_ids.get(ids.get(name, 0), -1), number) for name, number in described.items())
        extra = [(symbol, *(0,) * 8, number) for symbol, number in rest if symbol >= 0 and symbol not in here]
        table = np.concatenate((table, np.array(extra, dtype=np.int64).reshape(-1, 10)))
        order = np.lexsort((table[:, 0], table[:, 2], table[:, 1]))
        return _distinct(table[order].astype(np.int32))

    def _interface(self, infos: list[Any]) -> str:
        """Digest of the signatures other files can see: global symbols and what the tool says first about
        them.
        """
        normal = self._table.normal
        visible = sorted(
            normal(info.symbol) + b"\0" + (info.documentation[0] if info.documentation else b"")
            for info in infos
            if not symbols.is_local(info.symbol)
        )
        return hashlib.blake2b(b"\0\0".join(visible), digest_size=16).hexdigest()

    def _count(self, flags: npt.NDArray[np.int32], unresolved: int) -> None:
        quality = flags >> QUALITY_SHIFT
        self.summary.documents += 1
        self.summary.occurrences += len(flags)
        self.summary.demoted += int((quality == DEMOTED).sum())
        self.summary.repaired += int((quality == REPAIRED).sum())
        self.summary.unresolved += unresolved


def _distinct(table: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """A sorted table without repeated rows."""
    if len(table) < 2:
        return table
    return table[np.concatenate(([True], (table[1:] != table[:-1]).any(axis=1)))]


def _enclosing(source: Source, occurrences: list[Any]) -> npt.NDArray[np.int32]:
    """Enclosing ranges of definitions only: on references rust-analyzer means something else by them."""
    found = [
        (o.enclosing_range, o.single_line_enclosing_range, o.multi_line_enclosing_range) for o in occurrences
    ]
    if not any(map(any, found)):
        return np.zeros((len(found), 4), dtype=np.int32)
    packed, single, multi = zip(*found, strict=True)
    placed = source.place(decode_all(packed, single, multi))
    given = np.fromiter(map(any, found), dtype=np.bool_, count=len(found)) & placed.good
    return np.where(given[:, None], np.stack(placed[2:6], axis=1), 0).astype(np.int32)
