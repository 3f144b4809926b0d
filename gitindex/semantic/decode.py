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
from gitindex.scip.fact_postings import DEMOTED, EXACT, QUALITY_SHIFT, REPAIRED
from gitindex.scip.ranges import Ints
from gitindex.scip.reader import IndexFile, Tool
from gitindex.segment.scipsymbols import SymbolColumns
from gitindex.semantic import describe
from gitindex.semantic.firstpass import BATCH_OCCURRENCES, FirstPass, Part, Small
from gitindex.semantic.interning import Interner, Seen, SymbolTable, World, seen_in
from gitindex.semantic.package_names import NAMELESS, Naming

__all__ = [
    "DEMOTED",
    "EXACT",
    "QUALITY_SHIFT",
    "REPAIRED",
    "Decoded",
    "Document",
    "ReadBlob",
    "Summary",
]
ReadBlob = Callable[[str], bytes | None]
_COUNTS = ("damaged", "documents", "occurrences", "demoted", "repaired", "unresolved", "out_of_range")


def path_of(raw: bytes, prefix: str = "") -> str:
    """The path key of a document. Raises UnsafePath, with the reason, for one that cannot be a tracked file."""
    text = raw.decode("utf-8", "replace")
    if not text or text.startswith("/"):
        raise UnsafePath("absolute path")
    try:
        return path_key(posixpath.normpath(posixpath.join(prefix, text)))
    except UnsafePath as error:
        raise UnsafePath("leaves the repository") from error


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

    def add(self, other: Summary) -> None:
        """Take in the counts of another share of the same file."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.rejected += other.rejected


class Decoded:
    """An index after the first pass; `documents` is the second."""

    def __init__(
        self,
        file: IndexFile,
        read: ReadBlob,
        *,
        prefix: str = "",
        known: Callable[[int], bool] | None = None,
        naming: Naming = NAMELESS,
        only: Iterable[int] | None = None,
        exchange: Callable[[Seen], Seen] | None = None,
    ) -> None:
        """`prefix` is the project root within the repository; `known` tells symbols the store defines
        already. A share of the file: `only` these documents by number, and `exchange` turns what they define
        into what all of them define.
        """
        self._file = file
        self._prefix = prefix
        self.summary = Summary(file.tool(), file.truncated)
        first = FirstPass(self.summary.tool.name)
        with pause_gc():
            self._take_documents(first, read, range(len(file.layout.documents)) if only is None else only)
        self._parts = first.parts
        self._interner = first.interner
        self.summary.out_of_range = first.out_of_range
        parts = (part for parts in self._parts.values() for part in parts)
        seen = seen_in(first.interner, {i for p in parts for i in p.ids[p.defined].tolist() if i >= 0})
        described = frozenset(info.symbol for info in file.externals(schema.raw()))
        self._world = World(first.interner, exchange(seen) if exchange else seen, described, known, naming)
        self._repair()
        self._table = SymbolTable(first.interner, self._world)
        # Interned number → number of its description in the document at hand; locals count from the end.
        self._described = np.full(len(first.interner.strings) + first.interner.local_count + 2, -1, np.int32)
        self.summary.damaged = file.damaged

    def symbols(self) -> Iterator[tuple[int, bytes]]:
        """(hash, normalised symbol) of every global symbol that occurs."""
        return zip(self._table.hashes.tolist(), self._table.names, strict=True)

    def named(self) -> SymbolColumns:
        """The same by string, for storage."""
        names = self._table.names
        order = sorted(range(len(names)), key=names.__getitem__)
        numbered = {name: number for number, name in enumerate(dict.fromkeys(self._interner.names))}
        short = np.array([numbered[self._interner.names[at]] for at in order], np.int64)
        keys = np.frombuffer(symbol_grammar.hash_all(numbered), "<i8")
        return SymbolColumns(self._table.hashes[order], [names[at] for at in order], keys[short])

    def defines(self, symbol_hash: int) -> bool:
        return symbol_hash in self._defined_hashes

    @cached_property
    def _defined_hashes(self) -> set[int]:
        numbered = zip(self._interner.strings, self._table.hashes.tolist(), strict=True)
        return {value for symbol, value in numbered if symbol in self._world.defined}

    def externals(self) -> Iterator[tuple[int, bytes, describe.Description]]:
        """Symbols of other packages with the hover text the tool gave: hash, symbol, description."""
        for info in self._file.externals(schema.raw()):
            if info.symbol and not symbol_grammar.is_local(info.symbol):
                name = self._world.normal(info.symbol)
                yield symbol_grammar.hash64(name), name, describe.describe(name, info)

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

    def _take_documents(self, first: FirstPass, read: ReadBlob, numbers: Iterable[int]) -> None:
        messages = schema.wire()
        for number in numbers:
            message = self._file.document(self._file.layout.documents[number], messages)
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
        try:
            return path_of(raw, self._prefix)
        except UnsafePath as error:
            self.summary.rejected.append((raw.decode("utf-8", "replace"), error.message))
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
                        siblings[key] = self._world.sibling(*key)
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
        definitions = _definition_rows(parts, owner, numbering.index, ids, rows)
        places = np.arange(len(paths) + 1)
        bounds, defined = np.searchsorted(table[:, 0], places), np.searchsorted(definitions[:, 0], places)
        for number, path in enumerate(paths):
            occurrences = table[bounds[number] : bounds[number + 1], 1:]
            own = definitions[defined[number] : defined[number + 1]]
            self._count(occurrences[:, 5], int(lost[number]))
            yield self._document(path, numbering.of(number), occurrences, own, int(lost[number]))

    def _document(
        self, path: str, numbers: _Numbers, occurrences: Small, definitions: Small, unresolved: int
    ) -> Document:
        first, *more = (self._file.layout.documents[part.number] for part in self._parts[path])
        message = self._file.document(first, schema.wire())
        for span in more:
            message.MergeFrom(self._file.document(span, schema.wire()))
        if more:
            _keep_first(message.symbols)
        infos = list(message.symbols)
        find, hash_of, names = self._interner.ids.get, self._table.hash_of, self._table.names
        spelled = [info.symbol for info in infos]
        interned = [find(name, Interner.EMPTY) for name in spelled]
        visible: list[bytes] = []
        links: list[tuple[int, int, int]] = []
        for name, number, info in zip(spelled, interned, infos, strict=True):
            if number >= 0 or not name.startswith(b"local "):
                documentation = info.documentation
                shown = names[number] if number >= 0 else self._world.normal(name)
                visible.append(shown + b"\0" + documentation[0] if documentation else shown)
                if info.relationships:
                    links += [(hash_of(name), hash_of(to), flags) for to, flags in describe.links(info)]
        described = self._with_descriptions(definitions, interned, numbers)
        interface = hashlib.blake2b(b"\0\0".join(sorted(visible)), digest_size=16).hexdigest()
        hover = describe.blob_of(message)
        count = len(numbers.local_ids)
        return Document(
            path, numbers.hashes, count, occurrences, described, links, hover, interface, unresolved
        )

    def _with_descriptions(self, definitions: Small, interned: list[int], numbers: _Numbers) -> Small:
        """Definition rows with the number of their description, after rows for locals that are only
        described.
        """
        described = self._described
        described[interned] = np.arange(len(interned))
        described[Interner.EMPTY] = -1
        ids = definitions[:, 10]
        rows = np.column_stack((definitions[:, 1:10], described[ids]))
        locals_here = described[numbers.local_ids]
        described[interned] = -1
        only = locals_here >= 0
        only[definitions[ids < 0, 1] - len(numbers.hashes)] = False
        if not only.any():
            return rows
        extra = np.zeros((int(only.sum()), 10), dtype=np.int32)
        extra[:, 0] = len(numbers.hashes) + np.flatnonzero(only)
        extra[:, 9] = locals_here[only]
        return np.concatenate((extra, rows))

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


class _Numbers(NamedTuple):
    """Symbols of one document in the order of their numbers."""

    hashes: npt.NDArray[np.int64]
    local_ids: Ints  # interned numbers


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

    def of(self, document: int) -> _Numbers:
        ranks = self._ranks[self._bounds[document] : self._bounds[document + 1]]
        count = int(np.searchsorted(ranks, self._globals))
        return _Numbers(self._table.sorted_hashes[ranks[:count]], self._globals - ranks[count:])


def _keep_first(infos: Any) -> None:
    """One description per symbol: duplicate documents repeat them."""
    once = list({info.symbol: info for info in reversed(infos)}.values())[::-1]
    del infos[:]
    infos.extend(once)


def _definition_rows(parts: list[Part], owner: Ints, index: Ints, ids: Small, rows: Small) -> Small:
    """document, symbol, position (4), enclosing (4), interned symbol; sorted by document and position."""
    starts = np.cumsum([0, *(len(part.ids) for part in parts[:-1])])
    at = np.concatenate([part.defined + start for part, start in zip(parts, starts.tolist(), strict=True)])
    enclosing = np.concatenate([part.enclosing for part in parts])
    table = np.column_stack((owner[at], index[at], rows[at, :4], enclosing, ids[at])).astype(np.int32)
    return _distinct(table[np.lexsort((table[:, 1], table[:, 3], table[:, 2], table[:, 0]))])


def _order(table: Small) -> Ints:
    """Row numbers sorted by document, start, end, symbol, flags. Packed keys: two sorts instead of seven, the second
    only of the few that start together.
    """
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
    order = np.argsort(start, kind="stable")  # quick: indexers write most of them in order
    same = np.diff(start[order], prepend=-1) == 0  # as the one before
    together = same | np.append(same[1:], False)[: len(same)]
    tied = order[together]
    order[together] = tied[np.lexsort((rest[tied], start[tied]))]
    return order


def _distinct(table: Small) -> Small:
    """A sorted table without repeated rows."""
    if len(table) < 2:
        return table
    return table[np.concatenate(([True], (table[1:] != table[:-1]).any(axis=1)))]
