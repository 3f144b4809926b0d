"""The syntactic layer: definitions, identifiers, calls and imports of every indexed file, tied by `resolve`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from gitindex.navigate import fact_queries
from gitindex.navigate.fact_queries import CallSite, Definition, family
from gitindex.navigate.layer import Calls, Edge, Guess, Reference, References, Within
from gitindex.navigate.resolve import Resolution, Resolver
from gitindex.navigate.text import Texts
from gitindex.view.snapshot import SnapshotView

Place = tuple[str, int, int]
SYNTACTIC = "syntactic"
TEXT = "text"
_MOST_SITES = 20_000  # of one name; beyond that an answer is no help to anybody
_NAME = re.compile(r"[\w$@]+[?!]?")
_BEFORE = re.compile(r"([\w$@\])]+(?:\s*(?:\.|::|->|\?\.)\s*[\w$]+)*)\s*(?:\.|::|->|\?\.)\s*$")


class SyntacticLayer:
    precision = SYNTACTIC

    def __init__(self, view: SnapshotView, texts: Texts) -> None:
        self._view = view
        self._texts = texts
        self.resolver = Resolver(view)

    def covers(self, path: str) -> bool:
        return True

    def definitions(self, name: str) -> list[Definition]:
        """By name, `Outer.inner`, `Outer::inner` or `path#name`; other case only when nothing else fits."""
        path, _, wanted = name.rpartition("#")
        parts = [part for part in re.split(r"::|\.|#", wanted) if part]
        if not parts:
            return []
        exact = fact_queries.named(self._view, parts[-1]) or fact_queries.named(
            self._view, parts[-1], any_case=True
        )
        suffix = ".".join(parts).lower()
        return [
            item
            for item in exact
            if f".{item.qualified_name}".lower().endswith(f".{suffix}") and path in ("", item.path)
        ]

    def meaning(self, path: str, line: int, column: int) -> list[Definition]:
        file = self.resolver.file(path)
        for item in file.definitions:
            if item.line == line and item.column <= column < item.column + len(item.name):
                return [item]
        word = self._word(path, line, column)
        if word is None:
            return []
        name, start = word
        return list(self._resolve(path, name, line, start).targets)

    def _word(self, path: str, line: int, column: int) -> tuple[str, int] | None:
        """The identifier at a position and where it starts; strings and comments hold none."""
        for match in _NAME.finditer(self._texts.line(path, line)):
            if match.start() < column <= match.end():
                name, start = match[0], match.start() + 1
                known = (line, start) in fact_queries.positions(self._view, name, path)
                return (name, start) if known else None
        return None

    # -- references ----------------------------------------------------------------------------

    def references(self, targets: Sequence[Definition], within: Within) -> References:
        answer = References()
        asked = {item.place for item in targets}
        for name in sorted({item.name for item in targets}):
            kin = {family(item.language) for item in targets if item.name == name}
            self._collect(answer, name, kin, asked, within)
            for site in fact_queries.renaming_imports(self._view, name):
                if within(site.path):
                    self._collect(answer, site.alias, kin, asked, site.path.__eq__)
        return answer

    def _collect(
        self, answer: References, spelling: str, kin: set[str], asked: set[Place], within: Within
    ) -> None:
        found = [
            item
            for item in fact_queries.occurrences(self._view, spelling)
            if family(item.language) in kin and within(item.path)
        ]
        found.sort()
        self._texts.load([item.path for item in found])
        known = {item.place for item in self.resolver.named(spelling)}
        left = _MOST_SITES
        for item in found:
            for line, column in item.positions[: max(left, 0)]:
                if (item.path, line, column) not in known:
                    self._judge(answer, item.path, spelling, line, column, asked)
            left -= len(item.positions)

    def _judge(
        self, answer: References, path: str, spelling: str, line: int, column: int, asked: set[Place]
    ) -> None:
        role, found = self._role(path, spelling, line, column)
        text = self._texts.line(path, line).strip()[:200]
        hit = any(item.place in asked for item in found.targets)
        if found.sure and hit:
            answer.found.append(Reference(path, line, column, role, SYNTACTIC, found.how, text))
        elif not found.sure and (hit or not found.targets):
            answer.candidates.append(Reference(path, line, column, role, TEXT, "name", text))

    def _role(self, path: str, name: str, line: int, column: int) -> tuple[str, Resolution]:
        file = self.resolver.file(path)
        for site in file.imports:
            if (
                line >= site.line
                and name in (site.name, site.alias)
                and self._import_spans(path, site.line, line)
            ):
                found = self.resolver.imported(site)
                return "import", Resolution(tuple(found[-1:]), "import", sure=bool(found))
        called = self._texts.after(path, line, column + len(name))[:1] == "("
        return "call" if called else "reference", self._resolve(path, name, line, column)

    def _import_spans(self, path: str, first: int, line: int) -> bool:
        """Is the line part of the import statement that starts at `first`? Brackets may carry it on."""
        if line == first:
            return True
        text = "\n".join(self._texts.line(path, at) for at in range(first, line))
        return text.count("(") > text.count(")") or text.count("{") > text.count("}")

    def _resolve(self, path: str, name: str, line: int, column: int) -> Resolution:
        receiver = ""
        before = _BEFORE.search(self._texts.before(path, line, column))
        if before:
            receiver = re.sub(r"\s+", "", before[1])
        scope = self.resolver.file(path).innermost(line)
        return self.resolver.resolve(path, name, receiver, scope)

    # -- calls ---------------------------------------------------------------------------------

    def calls_from(self, definition: Definition) -> Calls:
        """Calls whose innermost enclosing definition is this one, or lies in it (closures, members of a class)."""
        file = self.resolver.file(definition.path)
        inside = {item.ordinal for item in file.definitions if definition in file.chain(item.ordinal)}
        answer = Calls()
        for site in fact_queries.calls_in(self._view, definition.path):
            if site.caller in inside:
                self._add(answer, site, definition)
        return answer

    def calls_to(self, definition: Definition) -> Calls:
        answer = Calls()
        renamed = [
            [call for call in fact_queries.calls_named(self._view, site.alias) if call.path == site.path]
            for site in fact_queries.renaming_imports(self._view, definition.name)
        ]
        sites = chain(fact_queries.calls_named(self._view, definition.name)[:_MOST_SITES], *renamed)
        for site in sites:
            if family(site.language) == family(definition.language):
                self._add(answer, site, self._caller(site), only=definition)
        return answer

    def _add(
        self, answer: Calls, site: CallSite, caller: Definition | None, only: Definition | None = None
    ) -> None:
        found = self.resolver.resolve(site.path, site.callee, site.receiver, site.caller)
        if only is not None and all(item.place != only.place for item in found.targets):
            return
        if found.sure:
            target = found.targets[0]
            answer.edges.append(Edge(caller, target, site.path, site.line, site.column, SYNTACTIC, found.how))
        elif found.targets:
            answer.guesses.append(
                Guess(caller, site.callee, site.receiver, site.path, site.line, site.column, found.targets)
            )
        else:
            answer.external[site.callee] = answer.external.get(site.callee, 0) + 1

    def _caller(self, site: CallSite) -> Definition | None:
        definitions = self.resolver.file(site.path).definitions
        return definitions[site.caller] if 0 <= site.caller < len(definitions) else None
