"""The exact layer: definitions, references and calls from imported documents, in files they are exact for (SE-8).

What the indexer does not know of a covered file (an unresolved name, a kind of definition it has no symbol for) is
answered by the layer below and keeps its label. An occurrence that its own text contradicts is never exact (SE-7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gitindex.navigate import fact_queries
from gitindex.navigate.fact_queries import CallSite, DefinitionSite, language_family
from gitindex.navigate.imported_documents import EXACT_PRECISION, ExactFacts, Hover, SymbolKey, is_exact
from gitindex.navigate.layer import Calls, Edge, PathFilter, Place, Reference, References
from gitindex.navigate.syntactic_layer import SYNTACTIC, TEXT, SyntacticLayer
from gitindex.navigate.text import Texts
from gitindex.scip.fact_postings import DEMOTED, EXACT, IMPORT, QUALITY_SHIFT
from gitindex.semantic.edges import DocumentRows, find_call_edges
from gitindex.view.exact_facts import SymbolPosition
from gitindex.view.snapshot import SnapshotView

_IMPLEMENTATION = 2  # describe.IMPLEMENTATION, without its imports
_IMPORT_LINE = re.compile(r"\s*(?:import|from|use|export\b.*\bfrom|#include)\b|.*\brequire\(")
_MAX_TEXTS = 500  # references beyond are not shown, so their lines are not read


class ExactLayer:
    precision = EXACT_PRECISION

    def __init__(self, view: SnapshotView, texts: Texts, below: SyntacticLayer) -> None:
        self._view = view
        self._texts = texts
        self._below = below
        self.exact = ExactFacts(view)

    def covers(self, path: str) -> bool:
        return self.exact.covers(path)

    # -- definitions ---------------------------------------------------------------------------

    def find_definitions(self, name: str) -> list[DefinitionSite]:
        by_place = {
            item.place: self.label_exact(item)
            for item in self._below.find_definitions(name)
            if self.covers(item.path)
        }
        path, _, qualified = name.rpartition("#")
        parts = [part for part in re.split(r"::|\.|#", qualified) if part]
        for symbol in self.exact.find_by_name(parts) if parts else ():
            for item in self.definitions_of(symbol):
                if path in ("", item.path):
                    by_place.setdefault(item.place, item)
        return list(by_place.values())

    def find_definitions_at(self, path: str, line: int, column: int) -> list[DefinitionSite]:
        symbols = self.symbols_at(path, line, column)
        if not symbols:
            return self._below.find_definitions_at(path, line, column)
        return [item for symbol in symbols for item in self.definitions_of(symbol)]

    def symbols_at(self, path: str, line: int, column: int) -> list[SymbolKey]:
        """What the narrowest exact occurrences at a position stand for."""
        document = self.exact.load_document(path)
        occurrences = [item for item in document.occurrences_at(line, column) if is_exact(item)]
        if not occurrences:
            return document.symbols_defined_at(line, column)
        narrowest = [item for item in occurrences if item[1:5] == occurrences[0][1:5]]
        return list(dict.fromkeys(document.symbol_for(item.symbol) for item in narrowest))

    def label_exact(self, item: DefinitionSite) -> DefinitionSite:
        """The definition labelled exact when an imported document has it at the same place."""
        if self.covers(item.path) and self.exact.load_document(item.path).symbols_defined_at(
            item.line, item.column
        ):
            return item._replace(layer=EXACT_PRECISION)
        return item

    def hover(self, path: str, line: int, column: int) -> Hover | None:
        """What the indexer says about the name at a position, here or in another package."""
        if not self.covers(path):
            return None
        descriptions = (self.exact.describe_symbol(symbol) for symbol in self.symbols_at(path, line, column))
        return next((item for item in descriptions if item), None)

    def find_implementations(self, definition: DefinitionSite) -> list[DefinitionSite]:
        """What implements or overrides it, as the indexer recorded it."""
        definitions = [
            item
            for symbol in self.symbols_of(definition)
            if not symbol.is_local
            for other, flags in self.exact.scip.find_related(symbol.hash)
            if flags & _IMPLEMENTATION
            for item in self.definitions_of(SymbolKey(other))
        ]
        return sorted(dict.fromkeys(definitions), key=lambda item: item.place)

    def definitions_of(self, symbol: SymbolKey) -> list[DefinitionSite]:
        """Definitions of a symbol in current documents."""
        return [
            item
            for place in self.exact.definition_places(symbol)
            if (item := self._definition_at(symbol, place))
        ]

    def _definition_at(self, symbol: SymbolKey, place: Place) -> DefinitionSite | None:
        file = self._below.resolver.load_file(place[0])
        for item in file.definitions:
            if item.place == place:
                return item._replace(layer=EXACT_PRECISION)
        return self.exact.synthesize_definition(symbol, place, file.language)

    def symbols_of(self, definition: DefinitionSite) -> list[SymbolKey]:
        """The symbols a definition has; of a changed file the one that had its name."""
        if self.covers(definition.path):
            symbols = self.exact.load_document(definition.path).symbols_defined_at(
                definition.line, definition.column
            )
            return list(dict.fromkeys(symbols))
        previous = self.exact.find_previous_symbol(definition.path, definition.qualified_name)
        return [previous] if previous else []

    # -- references ----------------------------------------------------------------------------

    def find_references(self, targets: Sequence[DefinitionSite], within: PathFilter) -> References:
        symbols_by_place = {item.place: self.symbols_of(item) for item in targets}
        without_symbols = [_as_syntactic(item) for item in targets if not symbols_by_place[item.place]]
        answer = self._below.find_references(without_symbols, within) if without_symbols else References()
        symbols = dict.fromkeys(
            symbol for item_symbols in symbols_by_place.values() for symbol in item_symbols
        )
        names = {
            item.name: language_family(item.language) for item in targets if symbols_by_place[item.place]
        }
        sites = {_site_place(site) for name in names for site in fact_queries.calls_named(self._view, name)}
        occurrences = {
            (item.path, item.line, item.column): item
            for symbol in symbols
            for item in self.exact.find_references(symbol)
        }
        ordered = sorted(occurrences.values())
        self._texts.load(dict.fromkeys(item[0] for item in ordered[:_MAX_TEXTS]))
        for number, item in enumerate(ordered):
            self._add_reference(answer, item, sites, with_text=number < _MAX_TEXTS)
        places = set(occurrences) | {item.place for item in targets}
        for name, kin in names.items():
            answer.candidates += self._find_unresolved(name, kin, places)
        return answer

    def _add_reference(
        self, answer: References, item: SymbolPosition, sites: set[Place], *, with_text: bool
    ) -> None:
        path, line, column, flags = item
        text = self._texts.line(path, line).strip()[:200] if with_text else ""
        role = "call" if (path, line, column) in sites else "reference"
        if flags & IMPORT or _IMPORT_LINE.match(text):
            role = "import"
        quality = flags >> QUALITY_SHIFT
        if quality == DEMOTED:
            answer.candidates.append(Reference(path, line, column, role, TEXT, "contradicted", text))
        elif quality == EXACT:
            answer.proven.append(Reference(path, line, column, role, EXACT_PRECISION, "scip", text))
        else:  # the indexer named a sibling; the text decided
            answer.proven.append(Reference(path, line, column, role, SYNTACTIC, "repaired", text))

    def _find_unresolved(self, name: str, kin: str, places: set[Place]) -> Iterable[Reference]:
        """Identifiers of covered files that have the name and that the indexer says nothing about."""
        answered = places | {
            (occurrence.path, occurrence.line, occurrence.column)
            for value, _ in self.exact.scip.find_by_short_name(name)
            for occurrence in self.exact.scip.positions(value)
        }
        for item in fact_queries.occurrences_of(self._view, name):
            if language_family(item.language) != kin or not self.covers(item.path):
                continue
            positions = [position for position in item.positions if (item.path, *position) not in answered]
            document = self.exact.load_document(item.path) if positions else None
            for line, column in positions:
                if document is not None and not document.occurrences_at(line, column):
                    text = self._texts.line(item.path, line).strip()[:200]
                    yield Reference(item.path, line, column, "reference", TEXT, "name", text)

    # -- calls ---------------------------------------------------------------------------------

    def calls_from(self, definition: DefinitionSite) -> Calls:
        sites = self._sites_inside(definition)
        answer = Calls()
        document = self.exact.load_document(definition.path)
        rows = DocumentRows(document.hashes, document.occurrences, document.definitions)
        callees_by_place: dict[tuple[int, int], list[int]] = {}
        for edge in find_call_edges(rows, [(site.line, site.column) for site in sites]):
            callees_by_place.setdefault((edge.line, edge.column), []).append(edge.callee)
        resolved_places = {
            place
            for place, callees in callees_by_place.items()
            if self._add_edges(answer, definition, place, callees)
        }
        syntactic = self._below.calls_from(_as_syntactic(definition))
        answer.edges += [edge for edge in syntactic.edges if (edge.line, edge.column) not in callees_by_place]
        answer.candidates += [
            item for item in syntactic.candidates if (item.line, item.column) not in callees_by_place
        ]
        answered_places = resolved_places | {(item.line, item.column) for item in answer.edges}
        answered_places |= {(item.line, item.column) for item in answer.candidates}
        for site in sites:
            if (site.line, site.column) not in answered_places:
                answer.external[site.callee] = answer.external.get(site.callee, 0) + 1
        return answer

    def _add_edges(
        self, answer: Calls, definition: DefinitionSite, place: tuple[int, int], callees: list[int]
    ) -> bool:
        """False when what is called lies in another package."""
        definitions = [item for callee in callees for item in self.definitions_of(SymbolKey(callee))[:1]]
        answer.edges += [
            Edge(definition, item, definition.path, *place, EXACT_PRECISION, "scip")
            for item in dict.fromkeys(definitions)
        ]
        return bool(definitions)

    def calls_to(self, definition: DefinitionSite) -> Calls:
        symbols = self.symbols_of(definition)
        syntactic = self._below.calls_to(_as_syntactic(definition))
        if not symbols:
            return syntactic
        places = {
            item[:3]
            for symbol in symbols
            for item in self.exact.find_references(symbol)
            if item.flags >> QUALITY_SHIFT == EXACT
        }
        answer = Calls()
        for site in self._sites_at(definition.name, places):
            caller = self._find_caller(site)
            edge = Edge(caller, definition, site.path, site.line, site.column, EXACT_PRECISION, "scip")
            answer.edges.append(edge)
        answer.edges += [
            edge for edge in syntactic.edges if self._is_unanswered(edge.path, edge.line, edge.column)
        ]
        answer.candidates += [
            item for item in syntactic.candidates if self._is_unanswered(item.path, item.line, item.column)
        ]
        return answer

    def _is_unanswered(self, path: str, line: int, column: int) -> bool:
        """Does the indexer say nothing exact about a position of a covered file?"""
        return self.covers(path) and not any(
            map(is_exact, self.exact.load_document(path).occurrences_starting_at(line, column))
        )

    def _sites_inside(self, definition: DefinitionSite) -> list[CallSite]:
        """Calls whose innermost enclosing definition is this one, or lies in it."""
        file = self._below.resolver.load_file(definition.path)
        inside = {
            item.ordinal
            for item in file.definitions
            if any(enclosing.place == definition.place for enclosing in file.enclosing_chain(item.ordinal))
        }
        return [site for site in fact_queries.calls_in(self._view, definition.path) if site.caller in inside]

    def _sites_at(self, name: str, places: set[Place]) -> list[CallSite]:
        """Call sites at these places: most by name, the rest where an alias or a class (constructors) is called."""
        sites = [site for site in fact_queries.calls_named(self._view, name) if _site_place(site) in places]
        missing = places - {_site_place(site) for site in sites}
        for path in sorted({place[0] for place in missing}):
            sites += [
                site for site in fact_queries.calls_in(self._view, path) if _site_place(site) in missing
            ]
        return sorted(sites, key=_site_place)

    def _find_caller(self, site: CallSite) -> DefinitionSite | None:
        definitions = self._below.resolver.load_file(site.path).definitions
        return self.label_exact(definitions[site.caller]) if 0 <= site.caller < len(definitions) else None


def _as_syntactic(item: DefinitionSite) -> DefinitionSite:
    """The same definition with syntactic precision."""
    return item._replace(layer=SYNTACTIC)


def _site_place(site: CallSite) -> Place:
    return site.path, site.line, site.column
