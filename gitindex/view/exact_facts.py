"""Exact facts of a snapshot: combines the documents of all segments (SE-7, SE-8).

A path's document is the one in the newest segment that has one. It is current, and its positions exact, only if the
indexed file has the bytes that the document was made from; positions of other documents are returned only with
`current=False`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gitindex.scip import fact_postings
from gitindex.scip.fact_postings import DefinitionRow, FileBlob, Occurrence
from gitindex.scip.symbol_grammar import hash64
from gitindex.segment.scipfacts import DocumentHeader, ScipFacts

# path → blob id of the bytes that the snapshot indexed, None for a path that it did not index.
ContentLookup = Callable[[str], str | None]


class SymbolPosition(NamedTuple):
    """A position of a symbol in a current document."""

    path: str
    line: int
    column: int
    flags: int


class LocatedDocument(NamedTuple):
    """A document, and the number of the scip file that holds it."""

    segment_number: int
    header: DocumentHeader


class ScipView:
    """`paths` are the scip files of the snapshot, oldest first."""

    def __init__(self, paths: Sequence[Path], content: ContentLookup) -> None:
        self.paths = paths
        self._content = content
        self._current_by_path: dict[str, bool] = {}
        self._headers: list[dict[int, DocumentHeader]] = [{} for _ in paths]
        # Per scip file: document number → its path if it is current, else "".
        self._current_paths: list[dict[int, str]] = [{} for _ in paths]

    def __bool__(self) -> bool:
        return bool(self.paths)

    def close(self) -> None:
        if "_facts" in self.__dict__:
            for facts in self._facts:
                facts.close()

    @cached_property
    def _facts(self) -> list[ScipFacts]:
        return [ScipFacts(path) for path in self.paths]

    @cached_property
    def _newest_segments(self) -> dict[str, int]:
        """path → newest scip file that holds it, except the oldest (0), which is large and therefore not listed."""
        newest_segments: dict[str, int] = {}
        for segment_number, facts in enumerate(self._facts[1:], 1):
            for header in facts.documents():
                newest_segments[header.path] = segment_number
                self._headers[segment_number][header.file] = header
        return newest_segments

    # -- documents -----------------------------------------------------------------------------

    def find_document(self, path: str) -> DocumentHeader | None:
        """The path's document, current or not."""
        located = self._locate(path)
        return None if located is None else located.header

    def documents(self) -> Iterator[DocumentHeader]:
        """Every document that a newer one does not hide."""
        for located in self._visible_documents():
            yield located.header

    def is_current(self, path: str) -> bool:
        """Whether the path has a document that was made from its indexed bytes."""
        is_current = self._current_by_path.get(path)
        if is_current is None:
            document = self.find_document(path)
            is_current = document is not None and self._content(path) == document.blob
            self._current_by_path[path] = is_current
        return is_current

    def packed_occurrences(self, path: str) -> FileBlob | None:
        located = self._locate(path)
        if located is None:
            return None
        return self._facts[located.segment_number].occurrences(located.header.file)

    def occurrences(self, path: str) -> list[Occurrence]:
        packed = self.packed_occurrences(path)
        return [] if packed is None else list(fact_postings.unpack_occurrences(packed))

    def definitions(self, path: str) -> list[DefinitionRow]:
        located = self._locate(path)
        if located is None:
            return []
        return list(self._facts[located.segment_number].definitions(located.header.file))

    def hover(self, path: str) -> bytes:
        located = self._locate(path)
        return b"" if located is None else self._facts[located.segment_number].hover(located.header.file)

    def _locate(self, path: str) -> LocatedDocument | None:
        if not self._facts:
            return None
        segment_number = self._newest_segments.get(path, 0)
        header = self._facts[segment_number].find_document(path)
        return LocatedDocument(segment_number, header) if header is not None and header.blob else None

    def _visible_documents(self) -> Iterator[LocatedDocument]:
        """Every document that no newer entry of its path hides, oldest scip file first."""
        for segment_number, facts in enumerate(self._facts):
            for header in facts.documents():
                if header.blob and self._is_newest(segment_number, header.path):
                    yield LocatedDocument(segment_number, header)

    def _is_newest(self, segment_number: int, path: str) -> bool:
        """Whether no newer scip file has an entry for the path."""
        return self._newest_segments.get(path, 0) == segment_number

    # -- symbols -------------------------------------------------------------------------------

    def positions(self, symbol: int, *, current: bool = True) -> Iterator[SymbolPosition]:
        """Where a symbol occurs in current documents: by segment, then as stored (by path and position).

        With `current=False`, its positions in the stale documents instead, which refer to earlier content.
        """
        for segment_number, facts in enumerate(self._facts):
            current_paths = self._current_paths[segment_number]
            for file, line, column, flags in facts.postings(symbol):
                path = current_paths.get(file)
                if path is None:
                    path = current_paths[file] = self._path_if_current(segment_number, file)
                if path and current:
                    yield SymbolPosition(path, line, column, flags)
                elif not path and not current:
                    stale_path = self._header(segment_number, file).path
                    if self._is_newest(segment_number, stale_path):
                        yield SymbolPosition(stale_path, line, column, flags)

    def definition_positions(self, symbol: int) -> list[SymbolPosition]:
        return [position for position in self.positions(symbol) if position.flags & fact_postings.DEFINITION]

    def is_defined_outside(self, symbol: int, *, context: str) -> bool:
        """Whether a document of another context than `context` defines the symbol."""
        return any(
            posting.flags & fact_postings.DEFINITION
            and self._header(segment_number, posting.file).context != context
            for segment_number, facts in enumerate(self._facts)
            for posting in facts.postings(symbol)
        )

    def name(self, symbol: int) -> bytes | None:
        for facts in reversed(self._facts):
            symbol_name = facts.name(symbol)
            if symbol_name is not None:
                return symbol_name
        return None

    def find_by_short_name(self, short: str) -> list[tuple[int, bytes]]:
        """Symbols (hash, string) whose last descriptor has this name."""
        text = short.encode("utf-8", "surrogatepass")
        symbol_names = {name for facts in self._facts for name in facts.find_by_short_name(text)}
        return [(hash64(name), name) for name in sorted(symbol_names)]

    def find_related(self, target: int) -> list[tuple[int, int]]:
        """(symbol, flags) of the symbols that current documents relate to `target`, such as implementations."""
        relations = {
            (symbol, flags)
            for segment_number, facts in enumerate(self._facts)
            for symbol, file, flags in facts.find_links(target)
            if self._path_if_current(segment_number, file)
        }
        return sorted(relations)

    def external_hover(self, symbol: int) -> bytes | None:
        """Stored hover text of a symbol of another package."""
        for facts in reversed(self._facts):
            hover_text = facts.external_hover(symbol)
            if hover_text is not None:
                return hover_text
        return None

    def dependencies(self) -> dict[str, set[str]]:
        """path → paths of the documents that define what it refers to; current or not."""
        hashes_by_path: dict[str, tuple[int, ...]] = {}
        definers: dict[int, list[str]] = {}
        for segment_number, header in self._visible_documents():
            facts = self._facts[segment_number]
            hashes = facts.occurrences(header.file).hashes
            hashes_by_path[header.path] = hashes
            # A row without a line describes a symbol that the document does not define.
            symbol_numbers = {row.symbol for row in facts.definitions(header.file) if row.line}
            for symbol_number in symbol_numbers:
                if symbol_number < len(hashes):  # higher numbers are locals
                    definers.setdefault(hashes[symbol_number], []).append(header.path)
        return {
            path: {other for value in hashes for other in definers.get(value, ())} - {path}
            for path, hashes in hashes_by_path.items()
        }

    # -- merging -------------------------------------------------------------------------------

    def merge_sources(self) -> Iterator[tuple[ScipFacts, list[DocumentHeader]]]:
        """Every scip file with those of its documents that are not hidden (compaction)."""
        for segment_number, facts in enumerate(self._facts):
            visible = [
                header
                for header in facts.documents()
                if header.blob and self._is_newest(segment_number, header.path)
            ]
            yield facts, visible

    def find_hiding_documents(self, run: range) -> Iterator[DocumentHeader]:
        """Entries of these files that hide a document of a file before the run, which must stay hidden (compaction)."""
        for segment_number in run:
            for header in self._facts[segment_number].documents():
                is_newest = self._is_newest(segment_number, header.path)
                if is_newest and self._has_older_document(run.start, header.path):
                    yield header

    def _has_older_document(self, segment_number: int, path: str) -> bool:
        return any(facts.find_document(path) is not None for facts in self._facts[:segment_number])

    def _header(self, segment_number: int, file: int) -> DocumentHeader:
        headers = self._headers[segment_number]
        if file not in headers:
            headers[file] = self._facts[segment_number].document_by_number(file)
        return headers[file]

    def _path_if_current(self, segment_number: int, file: int) -> str:
        path = self._header(segment_number, file).path
        return path if self._is_newest(segment_number, path) and self.is_current(path) else ""
