"""Imported documents as navigation reads them: symbols at a position, places of definitions, hover texts.

Positions are read only from documents that were made from the current bytes of their file (SE-8).
"""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from gitindex.errors import ExactFactsError
from gitindex.model.frozen import frozen
from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.scip import symbol_grammar
from gitindex.scip.fact_postings import DEFINITION, EXACT, QUALITY_SHIFT, Occurrence
from gitindex.view.exact_facts import SymbolPosition
from gitindex.view.snapshot import SnapshotView

EXACT_PRECISION = "semantic"
_NAMELESS = frozenset({"namespace", "meta"})
_MINOR = frozenset({"parameter", "type_parameter", "namespace", "meta"})  # not listed when asked by name


class SymbolKey(NamedTuple):
    """A global symbol by hash, or a local one by its number in a file."""

    hash: int
    path: str = ""
    number: int = -1

    @property
    def is_local(self) -> bool:
        return self.number >= 0


@frozen
class Hover:
    """What an indexer says about a symbol; texts are empty where it says nothing."""

    symbol: str
    kind: str
    name: str
    signature: str
    documentation: str


class ExactDocument:
    """One current document, unpacked."""

    def __init__(self, view: SnapshotView, path: str) -> None:
        file = view.scip.packed_occurrences(path)
        self.path = path
        self.hashes: tuple[int, ...] = file.hashes if file else ()
        self.occurrences = view.scip.occurrences(path)
        self.definitions = view.scip.definitions(path)
        self._by_line: dict[int, list[Occurrence]] = {}
        for item in self.occurrences:
            for line in range(item.line, min(item.end_line, item.line + 50) + 1):
                self._by_line.setdefault(line, []).append(item)

    def occurrences_at(self, line: int, column: int) -> list[Occurrence]:
        """Occurrences around a position, the narrowest first."""
        occurrences = [
            item
            for item in self._by_line.get(line, ())
            if (item.line, item.column) <= (line, column) < (item.end_line, item.end_column)
        ]
        return sorted(
            occurrences, key=lambda item: (item.end_line - item.line, item.end_column - item.column)
        )

    def occurrences_starting_at(self, line: int, column: int) -> list[Occurrence]:
        return [i for i in self._by_line.get(line, ()) if (i.line, i.column) == (line, column)]

    def symbol_for(self, number: int) -> SymbolKey:
        if number < len(self.hashes):
            return SymbolKey(self.hashes[number])
        return SymbolKey(0, self.path, number)

    def symbols_defined_at(self, line: int, column: int) -> list[SymbolKey]:
        rows = (row for row in self.definitions if (row.line, row.column) == (line, column))
        return [self.symbol_for(row.symbol) for row in rows]


def is_exact(item: Occurrence) -> bool:
    return item.flags >> QUALITY_SHIFT == EXACT


class ExactFacts:
    """Answers about symbols of one snapshot; caches the documents that it unpacks."""

    def __init__(self, view: SnapshotView) -> None:
        self._view = view
        self.scip = view.scip
        self._documents: dict[str, ExactDocument] = {}

    def covers(self, path: str) -> bool:
        return self.scip.is_current(path)

    def load_document(self, path: str) -> ExactDocument:
        if path not in self._documents:
            self._documents[path] = ExactDocument(self._view, path)
        return self._documents[path]

    def definition_places(self, symbol: SymbolKey) -> list[tuple[str, int, int]]:
        """Where a symbol is defined."""
        if symbol.is_local:
            rows = self.load_document(symbol.path).definitions
            own_rows = (row for row in rows if row.symbol == symbol.number and row.line)
            return [(symbol.path, row.line, row.column) for row in own_rows]
        return sorted(
            (item.path, item.line, item.column) for item in self.scip.definition_positions(symbol.hash)
        )

    def find_references(self, symbol: SymbolKey) -> list[SymbolPosition]:
        """Everything but definitions, in current documents."""
        if symbol.is_local:
            occurrences = [
                SymbolPosition(symbol.path, item.line, item.column, item.flags)
                for item in self.load_document(symbol.path).occurrences
                if item.symbol == symbol.number
            ]
        else:
            occurrences = list(self.scip.positions(symbol.hash))
        return [item for item in occurrences if not item.flags & DEFINITION]

    def describe_symbol(self, symbol: SymbolKey) -> Hover | None:
        """Hover: signature and documentation, as the indexer wrote them."""
        from gitindex.semantic import describe

        name = b"" if symbol.is_local else self.scip.name(symbol.hash) or b""
        for path in dict.fromkeys(place[0] for place in self.definition_places(symbol)):
            document = self.load_document(path)
            for row in document.definitions:
                if document.symbol_for(row.symbol) == symbol and row.description >= 0:
                    infos = describe.parse_descriptions(self.scip.hover(path))
                    if row.description < len(infos):
                        return _make_hover(name, *describe.describe(name, infos[row.description]))
        stored = None if symbol.is_local else self.scip.external_hover(symbol.hash)
        if stored is None:
            return _make_hover(name) if name else None
        return _make_hover(name, *describe.unpack_external(stored))

    def synthesize_definition(
        self, symbol: SymbolKey, place: tuple[str, int, int], language: str
    ) -> DefinitionSite | None:
        """A definition from its symbol alone, where the syntax tree has none (attributes, modules)."""
        name = b"" if symbol.is_local else self.scip.name(symbol.hash) or b""
        chain = parse_descriptors(name)
        if not chain:
            return None
        from gitindex.scip.kinds import kind_of

        path, line, column = place
        last = chain[-1].name or path.rpartition("/")[2]
        names = [item.name for item in chain if item.suffix not in _NAMELESS] or [last]
        kind = kind_of(0, name, symbol_grammar.parse_last_descriptor(name))
        return DefinitionSite(
            path=path,
            language=language,
            ordinal=-1,
            name=last,
            qualified_name=".".join(names),
            kind=kind,
            line=line,
            column=column,
            end_line=line,
            end_column=column + len(last),
            signature="",
            doc="",
            parent=-1,
            layer=EXACT_PRECISION,
        )

    def find_by_name(self, parts: list[str]) -> list[SymbolKey]:
        """Symbols whose last descriptors have these names, without parameters and modules."""
        matches = []
        for value, text in self.scip.find_by_short_name(parts[-1]):
            chain = parse_descriptors(text)
            if chain and chain[-1].suffix not in _MINOR:
                names = [item.name for item in chain]
                if names[-len(parts) :] == parts:
                    matches.append(SymbolKey(value))
        return matches

    def find_previous_symbol(self, path: str, qualified_name: str) -> SymbolKey | None:
        """The symbol a changed file had under this name, when there was exactly one."""
        if self.scip.find_document(path) is None:
            return None
        document = ExactDocument(self._view, path)
        matches = set()
        for row in document.definitions:
            symbol = document.symbol_for(row.symbol)
            chain = [] if symbol.is_local else parse_descriptors(self.scip.name(symbol.hash) or b"")
            if ".".join(item.name for item in chain if item.suffix not in _NAMELESS) == qualified_name:
                matches.add(symbol)
        return matches.pop() if len(matches) == 1 else None


def parse_descriptors(name: bytes) -> tuple[symbol_grammar.Descriptor, ...]:
    """The descriptors of a global symbol, none for text outside the grammar."""
    try:
        parsed = symbol_grammar.parse(name.decode("utf-8", "replace"))
    except ExactFactsError:
        return ()
    return parsed.descriptors if isinstance(parsed, symbol_grammar.GlobalSymbol) else ()


def _make_hover(
    symbol: bytes, kind: str = "", name: str = "", signature: str = "", documentation: str = ""
) -> Hover:
    # Docstrings come indented as they stand in the source, except for their first line.
    first, newline, rest = documentation.partition("\n")
    return Hover(
        symbol=symbol.decode("utf-8", "replace"),
        kind=kind,
        name=name,
        signature=signature,
        documentation=first + newline + textwrap.dedent(rest),
    )
