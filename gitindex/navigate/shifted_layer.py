"""The shifted layer: exact facts about an earlier content of a file, moved along with the lines that did not change.

An unchanged line keeps its text, but what it refers to may have changed. So these answers are labelled syntactic
(`how: shifted`), never exact (SE-8). The layer below answers for changed lines, definitions and calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from gitindex.navigate.exact_layer import ExactLayer
from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.navigate.imported_documents import ExactDocument, is_exact
from gitindex.navigate.layer import Calls, PathFilter, Reference, References
from gitindex.navigate.syntactic_layer import SYNTACTIC, SyntacticLayer
from gitindex.navigate.text import Texts
from gitindex.scip.fact_postings import DEFINITION, EXACT, QUALITY_SHIFT
from gitindex.view.snapshot import SnapshotView

SHIFTED = "shifted"
_MAX_LINES = 20_000  # a diff of longer files costs more than it is worth
_MAX_FILES = 100  # in one answer: after a switch to another branch the syntactic layer is quicker and as good
_MIN_UNCHANGED = 0.5  # fraction of lines; with fewer it counts as another file


class ShiftedLayer:
    precision = SYNTACTIC

    def __init__(self, view: SnapshotView, texts: Texts, above: ExactLayer, below: SyntacticLayer) -> None:
        self._view = view
        self._texts = texts
        self._above = above
        self._below = below
        self._maps: dict[str, dict[int, int]] = {}
        self._documents: dict[str, ExactDocument] = {}

    def covers(self, path: str) -> bool:
        """A document of an earlier content, most of whose lines are still there?"""
        return bool(self._line_map(path))

    def find_definitions(self, name: str) -> list[DefinitionSite]:
        return self._below.find_definitions(name)

    def calls_from(self, definition: DefinitionSite) -> Calls:
        return self._below.calls_from(definition._replace(layer=SYNTACTIC))

    def calls_to(self, definition: DefinitionSite) -> Calls:
        return self._below.calls_to(definition._replace(layer=SYNTACTIC))

    def find_definitions_at(self, path: str, line: int, column: int) -> list[DefinitionSite]:
        old_line = {new: old for old, new in self._line_map(path).items()}.get(line)
        document = self._load_document(path)
        occurrences = (
            [item for item in document.occurrences_at(old_line, column) if is_exact(item)] if old_line else []
        )
        symbols = dict.fromkeys(document.symbol_for(item.symbol) for item in occurrences[:1])
        definitions = [
            item for symbol in symbols if not symbol.is_local for item in self._above.definitions_of(symbol)
        ]
        return definitions or self._below.find_definitions_at(path, line, column)

    def find_references(self, targets: Sequence[DefinitionSite], within: PathFilter) -> References:
        symbols = [
            symbol for item in targets for symbol in self._above.symbols_of(item) if not symbol.is_local
        ]
        answer = References()
        shifted_places: set[tuple[str, int, int]] = set()
        for symbol in dict.fromkeys(symbols):
            for path, line, column, flags in self._view.scip.positions(symbol.hash, current=False):
                new_line = self._line_map(path).get(line)
                if new_line is not None and flags >> QUALITY_SHIFT == EXACT and not flags & DEFINITION:
                    shifted_places.add((path, new_line, column))
        places = sorted(shifted_places - {item.place for item in targets})
        self._texts.load(dict.fromkeys(path for path, _, _ in places))
        for path, line, column in places:
            text = self._texts.line(path, line).strip()[:200]
            answer.proven.append(Reference(path, line, column, "reference", SYNTACTIC, SHIFTED, text))
        syntactic = self._below.find_references([item._replace(layer=SYNTACTIC) for item in targets], within)
        answer.proven += [
            item for item in syntactic.proven if self._needs_syntax(item, symbols, shifted_places)
        ]
        answer.candidates += [
            item for item in syntactic.candidates if self._needs_syntax(item, symbols, shifted_places)
        ]
        return answer

    def _needs_syntax(
        self, item: Reference, symbols: Sequence[object], shifted_places: set[tuple[str, int, int]]
    ) -> bool:
        """Is a place still to be judged by syntax: not answered yet, and not known to mean something else?"""
        if item[:3] in shifted_places or not self.covers(item.path):
            return False
        old_line = {new: old for old, new in self._line_map(item.path).items()}.get(item.line)
        return (
            not symbols
            or old_line is None
            or not any(map(is_exact, self._load_document(item.path).occurrences_at(old_line, item.column)))
        )

    def _load_document(self, path: str) -> ExactDocument:
        if path not in self._documents:
            self._documents[path] = ExactDocument(self._view, path)
        return self._documents[path]

    def _line_map(self, path: str) -> dict[int, int]:
        """Line then → line now, of lines that did not change."""
        if path not in self._maps:
            limit_reached = sum(map(bool, self._maps.values())) >= _MAX_FILES
            self._maps[path] = {} if limit_reached else self._match_lines(path)
        return self._maps[path]

    def _match_lines(self, path: str) -> dict[int, int]:
        document = self._view.scip.find_document(path)
        record = self._view.record(path)
        if document is None or record is None or record.skip or record.content == document.blob:
            return {}
        old_text, current = self._texts.read_blob(document.blob), self._texts.get(path)
        if old_text is None or current is None or not current.exact:
            return {}
        old, new = old_text.split("\n"), current.lines
        if max(len(old), len(new)) > _MAX_LINES:
            return {}
        blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        line_map = {a + offset + 1: b + offset + 1 for a, b, size in blocks for offset in range(size)}
        return line_map if len(line_map) >= _MIN_UNCHANGED * len(old) else {}
