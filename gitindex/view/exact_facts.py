"""Semantic facts of a snapshot: the documents of all segments as one (SE-7, SE-8).

The newest segment that holds a path's document wins. A document is current, and its positions exact, only where the
live file has the very bytes it was made from; nothing here hands out positions of any other document unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gitindex.scip import fact_postings
from gitindex.scip.fact_postings import FileBlob, Occurrence
from gitindex.scip.symbol_grammar import hash64
from gitindex.segment.scipfacts import ScipFacts, ScipFile

Content = Callable[[str], str | None]  # path → id of the bytes indexed now, None when there is no such file


class Found(NamedTuple):
    """A position of a symbol in a current document."""

    path: str
    line: int
    column: int
    flags: int


class ScipView:
    """`paths` are the scip files of the snapshot, oldest first."""

    def __init__(self, paths: Sequence[Path], content: Content) -> None:
        self.paths = paths
        self._content = content
        self._current: dict[str, bool] = {}
        self._heads: list[dict[int, ScipFile]] = [{} for _ in paths]
        self._live: list[dict[int, str]] = [{} for _ in paths]  # document → path when current, "" when not

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
    def _newer(self) -> dict[str, int]:
        """path → newest segment but the oldest that holds it: small, because those are deltas."""
        found: dict[str, int] = {}
        for at, facts in enumerate(self._facts[1:], 1):
            for head in facts.files():
                found[head.path] = at
                self._heads[at][head.file] = head
        return found

    # -- documents -----------------------------------------------------------------------------

    def document(self, path: str) -> ScipFile | None:
        """The path's document, current or not."""
        found = self._locate(path)
        return None if found is None else found[1]

    def documents(self) -> Iterator[ScipFile]:
        """Every document that a newer one does not hide."""
        newer = self._newer
        for at, facts in enumerate(self._facts):
            for head in facts.files():
                if newer.get(head.path, 0) == at and head.blob:
                    yield head

    def current(self, path: str) -> bool:
        """Does the path have a document made from the bytes it has now?"""
        known = self._current.get(path)
        if known is None:
            document = self.document(path)
            known = document is not None and self._content(path) == document.blob
            self._current[path] = known
        return known

    def file(self, path: str) -> FileBlob | None:
        found = self._locate(path)
        return None if found is None else self._facts[found[0]].occurrences(found[1].file)

    def occurrences(self, path: str) -> list[Occurrence]:
        found = self.file(path)
        return [] if found is None else list(fact_postings.occurrences_of(found))

    def definitions(self, path: str) -> list[tuple[int, ...]]:
        found = self._locate(path)
        return [] if found is None else list(self._facts[found[0]].definitions(found[1].file))

    def hover(self, path: str) -> bytes:
        found = self._locate(path)
        return b"" if found is None else self._facts[found[0]].hover(found[1].file)

    def _locate(self, path: str) -> tuple[int, ScipFile] | None:
        if not self._facts:
            return None
        at = self._newer.get(path, 0)
        head = self._facts[at].file(path)
        return (at, head) if head is not None and head.blob else None

    # -- symbols -------------------------------------------------------------------------------

    def positions(self, symbol: int, *, current: bool = True) -> Iterator[Found]:
        """Where a symbol occurs in current documents: by segment, then as stored (by path and position).

        With `current=False` in all the others: positions in what files were.
        """
        for at, facts in enumerate(self._facts):
            live = self._live[at]
            for file, line, column, flags in facts.postings(symbol):
                path = live.get(file)
                if path is None:
                    path = live[file] = self._path_if_current(at, file)
                if path and current:
                    yield Found(path, line, column, flags)
                elif not path and not current and self._newer.get(self._head(at, file).path, 0) == at:
                    yield Found(self._head(at, file).path, line, column, flags)

    def definitions_of(self, symbol: int) -> list[Found]:
        return [found for found in self.positions(symbol) if found.flags & fact_postings.DEFINITION]

    def defines(self, symbol: int, *, besides: str) -> bool:
        """Does a document of any context but `besides` define the symbol?"""
        return any(
            found.flags & fact_postings.DEFINITION and self._head(at, found.file).context != besides
            for at, facts in enumerate(self._facts)
            for found in facts.postings(symbol)
        )

    def name(self, symbol: int) -> bytes | None:
        for facts in reversed(self._facts):
            found = facts.name(symbol)
            if found is not None:
                return found
        return None

    def named(self, short: str) -> list[tuple[int, bytes]]:
        """Symbols (hash, string) whose last descriptor has this name."""
        text = short.encode("utf-8", "surrogatepass")
        found = {name for facts in self._facts for name in facts.named(text)}
        return [(hash64(name), name) for name in sorted(found)]

    def related(self, target: int) -> list[tuple[int, int]]:
        """(symbol, flags) of what current documents relate to `target`: implementations and the like."""
        found = {
            (symbol, flags)
            for at, facts in enumerate(self._facts)
            for symbol, file, flags in facts.links(target)
            if self._path_if_current(at, file)
        }
        return sorted(found)

    def external(self, symbol: int) -> bytes | None:
        """Stored hover text of a symbol of another package."""
        for facts in reversed(self._facts):
            found = facts.external(symbol)
            if found is not None:
                return found
        return None

    def dependencies(self) -> dict[str, set[str]]:
        """path → paths of the documents that define what it refers to; current or not."""
        heads = [
            (at, head)
            for at, facts in enumerate(self._facts)
            for head in facts.files()
            if head.blob and self._newer.get(head.path, 0) == at
        ]
        mentioned: dict[str, tuple[int, ...]] = {}
        definers: dict[int, list[str]] = {}
        for at, head in heads:
            hashes = self._facts[at].occurrences(head.file).hashes
            mentioned[head.path] = hashes
            numbers = {row[0] for row in self._facts[at].definitions(head.file) if row[1]}
            for number in numbers:
                if number < len(hashes):
                    definers.setdefault(hashes[number], []).append(head.path)
        return {
            path: {other for value in hashes for other in definers.get(value, ())} - {path}
            for path, hashes in mentioned.items()
        }

    # -- merging -------------------------------------------------------------------------------

    def sources(self) -> Iterator[tuple[ScipFacts, list[ScipFile]]]:
        """Every segment with the documents of it that are not hidden (compaction)."""
        newer = self._newer
        for at, facts in enumerate(self._facts):
            yield facts, [head for head in facts.files() if head.blob and newer.get(head.path, 0) == at]

    def hiding(self, run: range) -> Iterator[ScipFile]:
        """Entries of these files that hide a document of an older file, which must stay hidden (compaction)."""
        for at in run:
            for head in self._facts[at].files():
                if self._newer.get(head.path, 0) == at and self._held_before(run.start, head.path):
                    yield head

    def _held_before(self, at: int, path: str) -> bool:
        return any(facts.file(path) is not None for facts in self._facts[:at])

    def _head(self, at: int, file: int) -> ScipFile:
        head = self._heads[at].get(file)
        if head is None:
            head = self._heads[at][file] = self._facts[at].numbered(file)
        return head

    def _path_if_current(self, at: int, file: int) -> str:
        head = self._head(at, file)
        return head.path if self._newer.get(head.path, 0) == at and self.current(head.path) else ""
