"""The shifted layer: what was exact for an earlier content of a file, moved along with the lines that did not change.

Safe only as far as a line goes: it still says the same, what surrounds it may not. So these answers are labelled
syntactic (`how: shifted`), never exact (SE-8). Changed lines, definitions and calls are the layer below's to answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from gitindex.navigate.exact import Document, exact
from gitindex.navigate.exact_layer import SemanticLayer
from gitindex.navigate.fact_queries import Definition
from gitindex.navigate.layer import Calls, Reference, References, Within
from gitindex.navigate.syntactic_layer import SYNTACTIC, SyntacticLayer
from gitindex.navigate.text import Texts
from gitindex.scip.fact_postings import DEFINITION, EXACT, QUALITY_SHIFT
from gitindex.view.snapshot import SnapshotView

SHIFTED = "shifted"
_MOST_LINES = 20_000  # a diff of longer files costs more than it is worth
_MOST_FILES = 100  # of one answer: after a jump to another branch syntax is quicker and as good
_LEAST_KEPT = 0.5  # of the lines: beyond, it is another file


class ShiftedLayer:
    precision = SYNTACTIC

    def __init__(self, view: SnapshotView, texts: Texts, above: SemanticLayer, below: SyntacticLayer) -> None:
        self._view = view
        self._texts = texts
        self._above = above
        self._below = below
        self._maps: dict[str, dict[int, int]] = {}
        self._documents: dict[str, Document] = {}

    def covers(self, path: str) -> bool:
        """A document of an earlier content, most of whose lines are still there?"""
        return bool(self._map(path))

    def definitions(self, name: str) -> list[Definition]:
        return self._below.definitions(name)

    def calls_from(self, definition: Definition) -> Calls:
        return self._below.calls_from(definition._replace(layer=SYNTACTIC))

    def calls_to(self, definition: Definition) -> Calls:
        return self._below.calls_to(definition._replace(layer=SYNTACTIC))

    def meaning(self, path: str, line: int, column: int) -> list[Definition]:
        was = {new: old for old, new in self._map(path).items()}.get(line)
        document = self._document(path)
        found = [item for item in document.at(was, column) if exact(item)] if was else []
        symbols = dict.fromkeys(document.symbol(item.symbol) for item in found[:1])
        defined = [item for symbol in symbols if not symbol.local for item in self._above.defined(symbol)]
        return defined or self._below.meaning(path, line, column)

    def references(self, targets: Sequence[Definition], within: Within) -> References:
        known = [symbol for item in targets for symbol in self._above.symbols(item) if not symbol.local]
        answer = References()
        placed: set[tuple[str, int, int]] = set()
        for symbol in dict.fromkeys(known):
            for path, line, column, flags in self._view.scip.positions(symbol.hash, current=False):
                now = self._map(path).get(line)
                if now is not None and flags >> QUALITY_SHIFT == EXACT and not flags & DEFINITION:
                    placed.add((path, now, column))
        places = sorted(placed - {item.place for item in targets})
        self._texts.load(dict.fromkeys(path for path, _, _ in places))
        for path, line, column in places:
            text = self._texts.line(path, line).strip()[:200]
            answer.found.append(Reference(path, line, column, "reference", SYNTACTIC, SHIFTED, text))
        rest = self._below.references([item._replace(layer=SYNTACTIC) for item in targets], within)
        answer.found += [item for item in rest.found if self._open(item, known, placed)]
        answer.candidates += [item for item in rest.candidates if self._open(item, known, placed)]
        return answer

    def _open(self, item: Reference, known: Sequence[object], placed: set[tuple[str, int, int]]) -> bool:
        """Is a place still to be judged by syntax: not answered yet, and not known to mean something else?"""
        if item[:3] in placed or not self.covers(item.path):
            return False
        was = {new: old for old, new in self._map(item.path).items()}.get(item.line)
        return not known or was is None or not any(map(exact, self._document(item.path).at(was, item.column)))

    def _document(self, path: str) -> Document:
        if path not in self._documents:
            self._documents[path] = Document(self._view, path)
        return self._documents[path]

    def _map(self, path: str) -> dict[int, int]:
        """Line then → line now, of lines that did not change."""
        if path not in self._maps:
            spent = sum(map(bool, self._maps.values())) >= _MOST_FILES
            self._maps[path] = {} if spent else self._compared(path)
        return self._maps[path]

    def _compared(self, path: str) -> dict[int, int]:
        document = self._view.scip.find_document(path)
        record = self._view.record(path)
        if document is None or record is None or record.skip or record.content == document.blob:
            return {}
        before, now = self._texts.blob(document.blob), self._texts.get(path)
        if before is None or now is None or not now.exact:
            return {}
        old, new = before.split("\n"), now.lines
        if max(len(old), len(new)) > _MOST_LINES:
            return {}
        blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        kept = {a + at + 1: b + at + 1 for a, b, size in blocks for at in range(size)}
        return kept if len(kept) >= _LEAST_KEPT * len(old) else {}
