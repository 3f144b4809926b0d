"""Imported documents as navigation sees them: what stands at a place, where a symbol is defined, what is said of it.

Only documents made from the very bytes of the live file are ever asked for positions (SE-8).
"""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from gitindex.errors import SemanticError
from gitindex.navigate.fact_queries import Definition
from gitindex.scip import symbol_grammar
from gitindex.scip.fact_postings import DEFINITION, EXACT, QUALITY_SHIFT, Occurrence
from gitindex.view.exact_facts import SymbolPosition
from gitindex.view.snapshot import SnapshotView

SEMANTIC = "semantic"
_NAMELESS = frozenset({"namespace", "meta"})
_MINOR = frozenset({"parameter", "type_parameter", "namespace", "meta"})  # not listed when asked by name


class Symbol(NamedTuple):
    """A global symbol by hash, or a local one by its number in a file."""

    hash: int
    path: str = ""
    number: int = -1

    @property
    def local(self) -> bool:
        return self.number >= 0


class Document:
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

    def at(self, line: int, column: int) -> list[Occurrence]:
        """Occurrences around a position, the narrowest first."""
        found = [
            item
            for item in self._by_line.get(line, ())
            if (item.line, item.column) <= (line, column) < (item.end_line, item.end_column)
        ]
        return sorted(found, key=lambda item: (item.end_line - item.line, item.end_column - item.column))

    def starting(self, line: int, column: int) -> list[Occurrence]:
        return [i for i in self._by_line.get(line, ()) if (i.line, i.column) == (line, column)]

    def symbol(self, number: int) -> Symbol:
        if number < len(self.hashes):
            return Symbol(self.hashes[number])
        return Symbol(0, self.path, number)

    def defined_at(self, line: int, column: int) -> list[Symbol]:
        return [self.symbol(row[0]) for row in self.definitions if (row[1], row[2]) == (line, column)]


def exact(item: Occurrence) -> bool:
    return item.flags >> QUALITY_SHIFT == EXACT


class Exact:
    """Answers about symbols of one snapshot; remembers documents."""

    def __init__(self, view: SnapshotView) -> None:
        self._view = view
        self.scip = view.scip
        self._documents: dict[str, Document] = {}

    def covers(self, path: str) -> bool:
        return self.scip.is_current(path)

    def document(self, path: str) -> Document:
        if path not in self._documents:
            self._documents[path] = Document(self._view, path)
        return self._documents[path]

    def places(self, symbol: Symbol) -> list[tuple[str, int, int]]:
        """Where a symbol is defined."""
        if symbol.local:
            rows = self.document(symbol.path).definitions
            return [(symbol.path, row[1], row[2]) for row in rows if row[0] == symbol.number and row[1]]
        return sorted(
            (item.path, item.line, item.column) for item in self.scip.definition_positions(symbol.hash)
        )

    def occurrences(self, symbol: Symbol) -> list[SymbolPosition]:
        """Everything but definitions, in current documents."""
        if symbol.local:
            rows = self.document(symbol.path).occurrences
            found = [
                SymbolPosition(symbol.path, row.line, row.column, row.flags)
                for row in rows
                if row[0] == symbol.number
            ]
        else:
            found = list(self.scip.positions(symbol.hash))
        return [item for item in found if not item.flags & DEFINITION]

    def described(self, symbol: Symbol) -> dict[str, str] | None:
        """Hover: signature and documentation, as the indexer gave them."""
        from gitindex.semantic import describe

        name = b"" if symbol.local else self.scip.name(symbol.hash) or b""
        for path in dict.fromkeys(place[0] for place in self.places(symbol)):
            document = self.document(path)
            for row in document.definitions:
                if document.symbol(row[0]) == symbol and row[9] >= 0:
                    infos = describe.read(self.scip.hover(path))
                    if row[9] < len(infos):
                        return _hover(describe.describe(name, infos[row[9]])._asdict(), name)
        stored = None if symbol.local else self.scip.external_hover(symbol.hash)
        if stored is None:
            return _hover({}, name) if name else None
        kind, shown, signature, documentation = stored.decode("utf-8", "replace").split("\0", 3)
        told = {"kind": kind, "name": shown, "signature": signature, "documentation": documentation}
        return _hover(told, name)

    def constructed(self, symbol: Symbol, place: tuple[str, int, int], language: str) -> Definition | None:
        """A definition from its symbol alone, where the syntax tree has none (attributes, modules)."""
        name = b"" if symbol.local else self.scip.name(symbol.hash) or b""
        chain = descriptors(name)
        if not chain:
            return None
        from gitindex.scip.kinds import kind_of

        path, line, column = place
        last = chain[-1].name or path.rpartition("/")[2]
        named = [item.name for item in chain if item.suffix not in _NAMELESS] or [last]
        kind = kind_of(0, name, symbol_grammar.tail(name))
        return Definition(
            path,
            language,
            -1,
            last,
            ".".join(named),
            kind,
            line,
            column,
            line,
            column + len(last),
            "",
            "",
            -1,
            SEMANTIC,
        )

    def named(self, parts: list[str]) -> list[Symbol]:
        """Symbols whose last descriptors have these names, without parameters and modules."""
        found = []
        for value, text in self.scip.find_by_short_name(parts[-1]):
            chain = descriptors(text)
            if chain and chain[-1].suffix not in _MINOR:
                names = [item.name for item in chain]
                if names[-len(parts) :] == parts:
                    found.append(Symbol(value))
        return found

    def moved(self, path: str, qualified_name: str) -> Symbol | None:
        """The symbol a changed file had under this name, when there was exactly one."""
        if self.scip.find_document(path) is None:
            return None
        document = Document(self._view, path)
        found = set()
        for row in document.definitions:
            symbol = document.symbol(row[0])
            chain = [] if symbol.local else descriptors(self.scip.name(symbol.hash) or b"")
            if ".".join(item.name for item in chain if item.suffix not in _NAMELESS) == qualified_name:
                found.add(symbol)
        return found.pop() if len(found) == 1 else None


def descriptors(name: bytes) -> tuple[symbol_grammar.Descriptor, ...]:
    """The descriptors of a global symbol, none for text outside the grammar."""
    try:
        parsed = symbol_grammar.parse(name.decode("utf-8", "replace"))
    except SemanticError:
        return ()
    return parsed.descriptors if isinstance(parsed, symbol_grammar.GlobalSymbol) else ()


def _hover(told: dict[str, str], name: bytes) -> dict[str, str]:
    shown = {"symbol": name.decode("utf-8", "replace"), **told}
    if (
        "documentation" in told
    ):  # docstrings come indented as they stand in the source, but for their first line
        first, newline, rest = told["documentation"].partition("\n")
        shown["documentation"] = first + newline + textwrap.dedent(rest)
    return shown
