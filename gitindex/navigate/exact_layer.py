"""The semantic layer: definitions, references and calls from imported documents, for files they are exact for (SE-8).

What the indexer does not know of a covered file (an unresolved name, a kind of definition it has no symbol for) is
answered by the layer below and keeps its label. An occurrence that its own text contradicts is never exact (SE-7).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gitindex.navigate import fact_queries
from gitindex.navigate.exact import SEMANTIC, Exact, Symbol, exact
from gitindex.navigate.fact_queries import CallSite, Definition, family
from gitindex.navigate.layer import Calls, Edge, Reference, References, Within
from gitindex.navigate.syntactic_layer import SYNTACTIC, TEXT, SyntacticLayer
from gitindex.navigate.text import Texts
from gitindex.scip.fact_postings import DEMOTED, EXACT, IMPORT, QUALITY_SHIFT
from gitindex.semantic.edges import Rows, call_edges
from gitindex.view.exact_facts import SymbolPosition
from gitindex.view.snapshot import SnapshotView

Place = tuple[str, int, int]
_IMPLEMENTATION = 2  # describe.IMPLEMENTATION, without its imports
_IMPORTING = re.compile(r"\s*(?:import|from|use|export\b.*\bfrom|#include)\b|.*\brequire\(")
_MOST_TEXTS = 500  # references beyond are not shown, so their lines are not read


class SemanticLayer:
    precision = SEMANTIC

    def __init__(self, view: SnapshotView, texts: Texts, below: SyntacticLayer) -> None:
        self._view = view
        self._texts = texts
        self._below = below
        self.exact = Exact(view)

    def covers(self, path: str) -> bool:
        return self.exact.covers(path)

    # -- definitions ---------------------------------------------------------------------------

    def definitions(self, name: str) -> list[Definition]:
        known = {
            item.place: self.upgraded(item)
            for item in self._below.definitions(name)
            if self.covers(item.path)
        }
        path, _, wanted = name.rpartition("#")
        parts = [part for part in re.split(r"::|\.|#", wanted) if part]
        for symbol in self.exact.named(parts) if parts else ():
            for item in self.defined(symbol):
                if path in ("", item.path):
                    known.setdefault(item.place, item)
        return list(known.values())

    def meaning(self, path: str, line: int, column: int) -> list[Definition]:
        found = self.symbols_at(path, line, column)
        if not found:
            return self._below.meaning(path, line, column)
        return [item for symbol in found for item in self.defined(symbol)]

    def symbols_at(self, path: str, line: int, column: int) -> list[Symbol]:
        """What the narrowest exact occurrences at a position stand for."""
        document = self.exact.document(path)
        found = [item for item in document.at(line, column) if exact(item)]
        if not found:
            return document.defined_at(line, column)
        tight = [item for item in found if item[1:5] == found[0][1:5]]
        return list(dict.fromkeys(document.symbol(item.symbol) for item in tight))

    def upgraded(self, item: Definition) -> Definition:
        """The definition labelled exact when an imported document has it at the same place."""
        if self.covers(item.path) and self.exact.document(item.path).defined_at(item.line, item.column):
            return item._replace(layer=SEMANTIC)
        return item

    def hover(self, path: str, line: int, column: int) -> dict[str, str] | None:
        """What the indexer says of the name at a position, here or in another package."""
        if not self.covers(path):
            return None
        told = (self.exact.described(symbol) for symbol in self.symbols_at(path, line, column))
        return next((item for item in told if item), None)

    def implementations(self, definition: Definition) -> list[Definition]:
        """What implements or overrides it, by the indexer's own word."""
        found = [
            item
            for symbol in self.symbols(definition)
            if not symbol.local
            for other, flags in self.exact.scip.find_related(symbol.hash)
            if flags & _IMPLEMENTATION
            for item in self.defined(Symbol(other))
        ]
        return sorted(dict.fromkeys(found), key=lambda item: item.place)

    def defined(self, symbol: Symbol) -> list[Definition]:
        """Definitions of a symbol in current documents."""
        return [item for place in self.exact.places(symbol) if (item := self._definition(symbol, place))]

    def _definition(self, symbol: Symbol, place: Place) -> Definition | None:
        file = self._below.resolver.file(place[0])
        for item in file.definitions:
            if item.place == place:
                return item._replace(layer=SEMANTIC)
        return self.exact.constructed(symbol, place, file.language)

    def symbols(self, definition: Definition) -> list[Symbol]:
        """The symbols a definition has; of a changed file the one that had its name."""
        if self.covers(definition.path):
            found = self.exact.document(definition.path).defined_at(definition.line, definition.column)
            return list(dict.fromkeys(found))
        moved = self.exact.moved(definition.path, definition.qualified_name)
        return [moved] if moved else []

    # -- references ----------------------------------------------------------------------------

    def references(self, targets: Sequence[Definition], within: Within) -> References:
        known = {item.place: self.symbols(item) for item in targets}
        rest = [_plain(item) for item in targets if not known[item.place]]
        answer = self._below.references(rest, within) if rest else References()
        symbols = dict.fromkeys(symbol for found in known.values() for symbol in found)
        names = {item.name: family(item.language) for item in targets if known[item.place]}
        sites = {_place(site) for name in names for site in fact_queries.calls_named(self._view, name)}
        found = {item[:3]: item for symbol in symbols for item in self.exact.occurrences(symbol)}
        shown = sorted(found.values())
        self._texts.load(dict.fromkeys(item[0] for item in shown[:_MOST_TEXTS]))
        for number, item in enumerate(shown):
            self._add(answer, item, sites, with_text=number < _MOST_TEXTS)
        places = set(found) | {item.place for item in targets}
        for name, kin in names.items():
            answer.candidates += self._unresolved(name, kin, places)
        return answer

    def _add(self, answer: References, item: SymbolPosition, sites: set[Place], *, with_text: bool) -> None:
        path, line, column, flags = item
        text = self._texts.line(path, line).strip()[:200] if with_text else ""
        role = "call" if (path, line, column) in sites else "reference"
        if flags & IMPORT or _IMPORTING.match(text):
            role = "import"
        quality = flags >> QUALITY_SHIFT
        if quality == DEMOTED:
            answer.candidates.append(Reference(path, line, column, role, TEXT, "contradicted", text))
        elif quality == EXACT:
            answer.found.append(Reference(path, line, column, role, SEMANTIC, "scip", text))
        else:  # the indexer named a sibling; the text decided
            answer.found.append(Reference(path, line, column, role, SYNTACTIC, "repaired", text))

    def _unresolved(self, name: str, kin: str, places: set[Place]) -> Iterable[Reference]:
        """Identifiers of covered files that have the name and that the indexer says nothing about."""
        taken = places | {
            (found.path, found.line, found.column)
            for value, _ in self.exact.scip.find_by_short_name(name)
            for found in self.exact.scip.positions(value)
        }
        for item in fact_queries.occurrences(self._view, name):
            if family(item.language) != kin or not self.covers(item.path):
                continue
            left = [at for at in item.positions if (item.path, *at) not in taken]
            document = self.exact.document(item.path) if left else None
            for line, column in left:
                if document is not None and not document.at(line, column):
                    text = self._texts.line(item.path, line).strip()[:200]
                    yield Reference(item.path, line, column, "reference", TEXT, "name", text)

    # -- calls ---------------------------------------------------------------------------------

    def calls_from(self, definition: Definition) -> Calls:
        sites = self._sites_inside(definition)
        answer = Calls()
        document = self.exact.document(definition.path)
        rows = Rows(document.hashes, document.occurrences, document.definitions)
        meant: dict[tuple[int, int], list[int]] = {}
        for edge in call_edges(rows, [(site.line, site.column) for site in sites]):
            meant.setdefault((edge.line, edge.column), []).append(edge.callee)
        known = {
            place for place, callees in meant.items() if self._add_edges(answer, definition, place, callees)
        }
        guessed = self._below.calls_from(_plain(definition))
        answer.edges += [edge for edge in guessed.edges if (edge.line, edge.column) not in meant]
        answer.guesses += [item for item in guessed.guesses if (item.line, item.column) not in meant]
        told = known | {(item.line, item.column) for item in answer.edges}
        told |= {(item.line, item.column) for item in answer.guesses}
        for site in sites:
            if (site.line, site.column) not in told:
                answer.external[site.callee] = answer.external.get(site.callee, 0) + 1
        return answer

    def _add_edges(
        self, answer: Calls, definition: Definition, place: tuple[int, int], callees: list[int]
    ) -> bool:
        """False when what is called lies in another package."""
        found = [item for callee in callees for item in self.defined(Symbol(callee))[:1]]
        answer.edges += [
            Edge(definition, item, definition.path, *place, SEMANTIC, "scip") for item in dict.fromkeys(found)
        ]
        return bool(found)

    def calls_to(self, definition: Definition) -> Calls:
        symbols = self.symbols(definition)
        guessed = self._below.calls_to(_plain(definition))
        if not symbols:
            return guessed
        places = {
            item[:3]
            for symbol in symbols
            for item in self.exact.occurrences(symbol)
            if item.flags >> QUALITY_SHIFT == EXACT
        }
        answer = Calls()
        for site in self._sites_at(definition.name, places):
            caller = self._caller(site)
            edge = Edge(caller, definition, site.path, site.line, site.column, SEMANTIC, "scip")
            answer.edges.append(edge)
        answer.edges += [edge for edge in guessed.edges if self._silent(edge.path, edge.line, edge.column)]
        answer.guesses += [
            item for item in guessed.guesses if self._silent(item.path, item.line, item.column)
        ]
        return answer

    def _silent(self, path: str, line: int, column: int) -> bool:
        """Does the indexer say nothing exact about a position of a covered file?"""
        return self.covers(path) and not any(map(exact, self.exact.document(path).starting(line, column)))

    def _sites_inside(self, definition: Definition) -> list[CallSite]:
        """Calls whose innermost enclosing definition is this one, or lies in it."""
        file = self._below.resolver.file(definition.path)
        inside = {
            item.ordinal
            for item in file.definitions
            if any(around.place == definition.place for around in file.chain(item.ordinal))
        }
        return [site for site in fact_queries.calls_in(self._view, definition.path) if site.caller in inside]

    def _sites_at(self, name: str, places: set[Place]) -> list[CallSite]:
        """Call sites at these places: most by name, the rest where an alias or a class (constructors) is called."""
        found = [site for site in fact_queries.calls_named(self._view, name) if _place(site) in places]
        left = places - {_place(site) for site in found}
        for path in sorted({place[0] for place in left}):
            found += [site for site in fact_queries.calls_in(self._view, path) if _place(site) in left]
        return sorted(found, key=_place)

    def _caller(self, site: CallSite) -> Definition | None:
        definitions = self._below.resolver.file(site.path).definitions
        return self.upgraded(definitions[site.caller]) if 0 <= site.caller < len(definitions) else None


def _plain(item: Definition) -> Definition:
    """As the layer below knows it."""
    return item._replace(layer=SYNTACTIC)


def _place(site: CallSite) -> Place:
    return site.path, site.line, site.column
