"""The syntactic layer: definitions, identifiers, calls and imports of every indexed file, tied by `resolve`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from gitindex.navigate import fact_queries
from gitindex.navigate.fact_queries import CallSite, DefinitionSite, language_family
from gitindex.navigate.layer import Calls, CandidateCall, Edge, PathFilter, Place, Reference, References
from gitindex.navigate.resolve import Resolution, Resolver
from gitindex.navigate.statement import Ending, find_ending
from gitindex.navigate.text import Texts
from gitindex.view.snapshot import SnapshotView

SYNTACTIC = "syntactic"
TEXT = "text"
_MAX_SITES = 20_000  # occurrences of one name that are resolved; the rest is left out
_NAME = re.compile(r"[\w$@]+[?!]?")
_RECEIVER = re.compile(r"([\w$@\])]+(?:\s*(?:\.|::|->|\?\.)\s*[\w$]+)*)\s*(?:\.|::|->|\?\.)\s*$")

# `name=` is a keyword argument, a parameter's default or a new binding, never the name that was imported.
_BINDING = re.compile(r"=(?!=)")
_NO_REFERENCE = Resolution((), "binding", sure=True)


class SyntacticLayer:
    precision = SYNTACTIC

    def __init__(self, view: SnapshotView, texts: Texts) -> None:
        self._view = view
        self._texts = texts
        self.resolver = Resolver(view)
        self._endings: dict[tuple[str, int], Ending] = {}

    def covers(self, path: str) -> bool:
        return True

    def find_definitions(self, name: str) -> list[DefinitionSite]:
        """By name, `Outer.inner`, `Outer::inner` or `path#name`; other case only when nothing else fits."""
        path, _, qualified = name.rpartition("#")
        parts = [part for part in re.split(r"::|\.|#", qualified) if part]
        if not parts:
            return []
        same_name = fact_queries.definitions_named(self._view, parts[-1]) or fact_queries.definitions_named(
            self._view, parts[-1], any_case=True
        )
        suffix = ".".join(parts).lower()
        return [
            item
            for item in same_name
            if f".{item.qualified_name}".lower().endswith(f".{suffix}") and path in ("", item.path)
        ]

    def find_definitions_at(self, path: str, line: int, column: int) -> list[DefinitionSite]:
        file = self.resolver.load_file(path)
        for item in file.definitions:
            if item.line == line and item.column <= column < item.column + len(item.name):
                return [item]
        word = self._identifier_at(path, line, column)
        if word is None:
            return []
        name, start = word
        return list(self._resolve(path, name, line, start).targets)

    def _identifier_at(self, path: str, line: int, column: int) -> tuple[str, int] | None:
        """The identifier at a position and where it starts; strings and comments hold none."""
        for match in _NAME.finditer(self._texts.line(path, line)):
            if match.start() < column <= match.end():
                name, start = match[0], match.start() + 1
                is_identifier = (line, start) in fact_queries.positions_in(self._view, name, path)
                return (name, start) if is_identifier else None
        return None

    # -- references ----------------------------------------------------------------------------

    def find_references(self, targets: Sequence[DefinitionSite], within: PathFilter) -> References:
        answer = References()
        target_places = {item.place for item in targets}
        for name in sorted({item.name for item in targets}):
            families = {language_family(item.language) for item in targets if item.name == name}
            self._collect_references(answer, name, families, target_places, within)
            for site in fact_queries.renaming_imports(self._view, name):
                if within(site.path):
                    self._collect_references(answer, site.alias, families, target_places, site.path.__eq__)
        return answer

    def _collect_references(
        self,
        answer: References,
        spelling: str,
        families: set[str],
        target_places: set[Place],
        within: PathFilter,
    ) -> None:
        occurrences = [
            item
            for item in fact_queries.occurrences_of(self._view, spelling)
            if language_family(item.language) in families and within(item.path)
        ]
        occurrences.sort()
        self._texts.load([item.path for item in occurrences])
        definition_places = {item.place for item in self.resolver.definitions_named(spelling)}
        sites_left = _MAX_SITES
        for item in occurrences:
            for line, column in item.positions[: max(sites_left, 0)]:
                place = (item.path, line, column)
                if place not in definition_places:
                    self._add_reference(answer, spelling, place, target_places)
            sites_left -= len(item.positions)

    def _add_reference(
        self, answer: References, spelling: str, place: Place, target_places: set[Place]
    ) -> None:
        path, line, column = place
        role, resolution = self._classify(path, spelling, line, column)
        text = self._texts.line(path, line).strip()[:200]
        matches_target = any(item.place in target_places for item in resolution.targets)
        if resolution.sure and matches_target:
            answer.proven.append(Reference(path, line, column, role, SYNTACTIC, resolution.how, text))
        elif not resolution.sure and (matches_target or not resolution.targets):
            answer.candidates.append(Reference(path, line, column, role, TEXT, "name", text))

    def _classify(self, path: str, name: str, line: int, column: int) -> tuple[str, Resolution]:
        file = self.resolver.load_file(path)
        for site in file.imports:
            if (
                line >= site.line
                and name in (site.name, site.alias)
                and (line, column) < self._find_import_ending(path, site.line)
            ):
                definitions = self.resolver.resolve_import(site)
                return "import", Resolution(tuple(definitions[-1:]), "import", sure=bool(definitions))
        resolution = self._resolve(path, name, line, column)
        after = self._texts.text_after(path, line, column + len(name))
        if file.language == "python" and resolution.how == "import" and _BINDING.match(after):
            return "reference", _NO_REFERENCE
        return "call" if after[:1] == "(" else "reference", resolution

    def _find_import_ending(self, path: str, first: int) -> Ending:
        if (path, first) not in self._endings:
            self._endings[path, first] = find_ending(self._texts.get_lines(path), first)
        return self._endings[path, first]

    def _resolve(self, path: str, name: str, line: int, column: int) -> Resolution:
        receiver = ""
        receiver_match = _RECEIVER.search(self._texts.text_before(path, line, column))
        if receiver_match:
            receiver = re.sub(r"\s+", "", receiver_match[1])
        scope = self.resolver.load_file(path).innermost_ordinal(line)
        return self.resolver.resolve(path, name, receiver, scope)

    # -- calls ---------------------------------------------------------------------------------

    def calls_from(self, definition: DefinitionSite) -> Calls:
        """Calls whose innermost enclosing definition is this one, or lies in it (closures, members of a class)."""
        file = self.resolver.load_file(definition.path)
        inside = {
            item.ordinal for item in file.definitions if definition in file.enclosing_chain(item.ordinal)
        }
        answer = Calls()
        for site in fact_queries.calls_in(self._view, definition.path):
            if site.caller in inside:
                self._add_call(answer, site, definition)
        return answer

    def calls_to(self, definition: DefinitionSite) -> Calls:
        answer = Calls()
        renamed = [
            [call for call in fact_queries.calls_named(self._view, site.alias) if call.path == site.path]
            for site in fact_queries.renaming_imports(self._view, definition.name)
        ]
        sites = chain(fact_queries.calls_named(self._view, definition.name)[:_MAX_SITES], *renamed)
        for site in sites:
            if language_family(site.language) == language_family(definition.language):
                self._add_call(answer, site, self._find_caller(site), only=definition)
        return answer

    def _add_call(
        self, answer: Calls, site: CallSite, caller: DefinitionSite | None, only: DefinitionSite | None = None
    ) -> None:
        resolution = self.resolver.resolve(site.path, site.callee, site.receiver, site.caller)
        if only is not None and all(item.place != only.place for item in resolution.targets):
            return
        if resolution.sure and resolution.targets:
            target = resolution.targets[0]
            answer.edges.append(
                Edge(
                    caller=caller,
                    callee=target,
                    path=site.path,
                    line=site.line,
                    column=site.column,
                    precision=SYNTACTIC,
                    how=resolution.how,
                )
            )
        elif resolution.targets:
            answer.candidates.append(
                CandidateCall(
                    caller=caller,
                    name=site.callee,
                    receiver=site.receiver,
                    path=site.path,
                    line=site.line,
                    column=site.column,
                    definitions=resolution.targets,
                )
            )
        else:
            answer.external[site.callee] = answer.external.get(site.callee, 0) + 1

    def _find_caller(self, site: CallSite) -> DefinitionSite | None:
        definitions = self.resolver.load_file(site.path).definitions
        return definitions[site.caller] if 0 <= site.caller < len(definitions) else None
