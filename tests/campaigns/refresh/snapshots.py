"""The annotated-source format of scip-typescript's published snapshots: written from a store, taken apart for comparison.

Nothing here reads a SCIP file: what is rendered is what a snapshot view answers (SE-7, SE-8).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gitindex.navigate.exact import ExactFacts, SymbolKey
from gitindex.scip.fact_postings import DEFINITION, QUALITY_SHIFT
from gitindex.scip.symbol_grammar import hash64
from gitindex.semantic import describe
from gitindex.view.snapshot import SnapshotView

PREFIX = "scip-typescript npm "
OPTIONS = "// format-options:"
_MOST = 40  # characters of a line of documentation that the format shows
_MARKED = re.compile(r"//(?P<space> *)(?P<mark><|\^*) (?P<role>definition|reference) (?P<symbol>.+)$")
_RELATED = re.compile(
    r"// *relationship(?P<flags>(?: implementation| reference| type_definition)*) (?P<symbol>.+)$"
)
_WORD = re.compile(r"[\w$#]+|'[^']*'|\"[^\"]*\"")
_LOCAL = re.compile(r"\blocal (\d+)$")


# -- writing -----------------------------------------------------------------------------------------


class Links:
    """Relationships by the symbol that has them; the store answers by target, so every known target is asked."""

    def __init__(self, view: SnapshotView, wanted: Iterable[str]) -> None:
        self.by_symbol: dict[int, list[tuple[bytes, int]]] = defaultdict(list)
        names = {hash64(name): name for name in (f"{PREFIX}{text}".encode() for text in wanted)}
        for document in view.scip.documents():
            blob = view.scip.packed_occurrences(document.path)
            for value in blob.hashes if blob else ():
                names.setdefault(value, view.scip.name(value) or b"")
        for value, name in names.items():
            for symbol, flags in view.scip.find_related(value):
                self.by_symbol[symbol].append((name, flags))


class Rendering:
    """One file of a store in the snapshot format. Columns are code points: the suite's sources are in the BMP."""

    def __init__(self, view: SnapshotView, path: str, source: str, links: Links) -> None:
        self._exact = ExactFacts(view)
        self._document = self._exact.load_document(path)
        self._infos = describe.parse_descriptions(view.scip.hover(path))
        self._lines = source.split("\n")
        self._links = links
        told = next((line for line in self._lines if line.startswith(OPTIONS)), "")
        self._docs, self._ranges = "showDocs" in told, "showRanges" in told
        self._said: set[int] = set()
        self._defined = {item.symbol for item in self._document.occurrences if item.flags & DEFINITION}
        self._described = {row[0]: row[9] for row in self._document.definitions if row[9] >= 0}

    def text(self) -> str:
        out: list[str] = []
        waiting = sorted(self._document.occurrences, key=lambda item: item[1:5])
        if waiting and waiting[0][1:5] == (1, 1, 1, 1):
            first = waiting.pop(0)
            out += [f"// < {_role(first.flags)} {self._name(first.symbol)}", *self._about(first, "//"), ""]
        starts, ends = self._around()
        for row, line in enumerate(self._lines, 1):
            out += starts.get(row, [])
            out.append(line)
            for item in (item for item in waiting if item.line == row):
                out += self._annotation(item)
            out += ends.get(row, [])
        return "\n".join(out)

    def qualities(self) -> Counter[int]:
        return Counter(item.flags >> QUALITY_SHIFT for item in self._document.occurrences)

    def _annotation(self, item: Any) -> list[str]:
        start, end = item.column - 1, item.end_column - 1
        shift = " " * max(start - 2, 0)
        marks = "^" * (end - start - (start == 0))
        head = f"//{shift}{marks} {_role(item.flags)} {self._name(item.symbol)}"
        return [head, *self._about(item, f"//{'' if start == 0 else shift}")]

    def _about(self, item: Any, indent: str) -> list[str]:
        """Documentation and relationships, once per symbol, at its definition where it has one here."""
        if item.symbol in self._said or (not item.flags & DEFINITION and item.symbol in self._defined):
            return []
        self._said.add(item.symbol)
        out = []
        number = self._described.get(item.symbol, -1)
        for text in self._infos[number].documentation if self._docs and number >= 0 else ():
            for at, line in enumerate(text.decode().split("\n")):
                cut = line if len(line) <= _MOST else f"{line[:_MOST]}..."
                out.append(f"{indent}{'            > ' if at else 'documentation '}{cut}")
        known = self._document.symbol_for(item.symbol)
        for target, flags in sorted(self._links.by_symbol.get(known.hash, ())) if not known.is_local else ():
            words = " implementation" * bool(flags & describe.IMPLEMENTATION)
            words += " reference" * bool(flags & describe.REFERENCE)
            words += " type_definition" * bool(flags & describe.TYPE_DEFINITION)
            out.append(f"{indent}relationship{words} {_short(target)}")
        return out

    def _around(self) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
        starts: dict[int, list[str]] = defaultdict(list)
        ends: dict[int, list[str]] = defaultdict(list)
        for row in self._document.definitions if self._ranges else ():
            symbol, top, left, bottom = row[0], row[5], row[6] - 1, row[7]
            if top:
                shift = " " * max(1, left - 2)
                starts[top].append(
                    f"//{shift}{'<' if left < 2 else '⌄'} start enclosing_range {self._name(symbol)}"
                )
                ends[bottom].append(
                    f"//{shift}{'<' if left < 2 else '^'} end enclosing_range {self._name(symbol)}"
                )
        return starts, ends

    def _name(self, number: int) -> str:
        known: SymbolKey = self._document.symbol_for(number)
        if known.is_local:
            return f"local {known.number}"
        return _short(self._exact.scip.name(known.hash) or b"?").replace("\n", "|")


def _role(flags: int) -> str:
    return "definition" if flags & DEFINITION else "reference"


def _short(name: bytes) -> str:
    return name.decode().removeprefix(PREFIX)


# -- taking apart ------------------------------------------------------------------------------------


class Line(NamedTuple):
    """An annotation under source line `row` (0: above the first)."""

    row: int
    text: str


class Mark(NamedTuple):
    """An occurrence as the format shows it."""

    path: str
    line: int
    column: int
    role: str
    symbol: str


def annotations(source: str, annotated: str, own: Iterable[str] = ()) -> Counter[Line]:
    """Every line of the format that is not source.

    Packages in `own` lose their version, as in a store; a local is named after its first place, for its number means
    nothing.
    """
    found = list(_lines(source, annotated, own))
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for line in found:
        marked, local = _MARKED.match(line.text), _LOCAL.search(line.text)
        if marked and local:
            places[local[0]].append((line.row, len(marked["space"])))
    named = {local: f"local {min(at)[0]}:{min(at)[1]}" for local, at in places.items()}
    return Counter(
        Line(row, _LOCAL.sub(lambda match: named.get(match[0], match[0]), text)) for row, text in found
    )


def packages(annotated: str) -> set[str]:
    """Those with definitions in a published output."""
    marked = (_MARKED.match(line) for line in annotated.split("\n"))
    names = {m["symbol"].split(" ")[0] for m in marked if m and m["role"] == "definition"}
    return names - {"local"}


def marks(path: str, source: str, annotated: str, own: Iterable[str]) -> Iterator[Mark | tuple[str, str]]:
    """Occurrences of global symbols; after one, (flags, target) of each relationship of its symbol."""
    lines = source.split("\n")
    for row, text in _lines(source, annotated, own):
        marked, link = _MARKED.match(text), _RELATED.match(text)
        if link:
            yield link["flags"].strip(), link["symbol"]
        elif marked and not marked["symbol"].startswith("local "):
            column = (
                0 if marked["mark"] == "<" else _start(lines[row - 1], marked["space"], len(marked["mark"]))
            )
            yield Mark(path, max(row, 1), column + 1, marked["role"], marked["symbol"])


def _lines(source: str, annotated: str, own: Iterable[str]) -> Iterator[Line]:
    lines, row = source.split("\n"), 0
    names = "|".join(map(re.escape, own)) or "(?!)"
    version = re.compile(rf"(?<= )({names}) \S+ ")
    for text in annotated.split("\n"):
        if row < len(lines) and text == lines[row]:
            row += 1
        elif text:
            yield Line(row, version.sub(r"\1 _ ", text))


def _start(line: str, space: str, width: int) -> int:
    """Where an occurrence starts. The comment mark covers the first two columns, so there the text has to tell."""
    if space:
        return 2 + len(space)
    words = {match.span() for match in _WORD.finditer(line)}
    return next(at for at, end in ((2, 2 + width), (0, width + 1), (1, 1 + width)) if (at, end) in words)
