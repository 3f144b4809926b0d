"""Definitions by name or position (QU-3)."""

from __future__ import annotations

import difflib

from gitindex.model.frozen import frozen
from gitindex.navigate import fact_queries, place_syntax
from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.navigate.layer import Layers
from gitindex.view.snapshot import SnapshotView

_SUGGESTED = 5
_SCANNED = 2000


@frozen
class SymbolEntry:
    """A definition as an answer lists it."""

    name: str
    qualified_name: str
    kind: str
    path: str
    line: int
    column: int
    end_line: int
    signature: str
    doc: str
    language: str
    precision: str
    symbol_id: str


def find(layers: Layers, text: str) -> list[DefinitionSite]:
    """By name, qualified name or position; a position without a column means the definition around that line."""
    definitions = place_syntax.find_definitions(layers, text)
    return sorted(definitions, key=lambda item: (item.name != text, _kind_rank(item.kind), item.place))


def find_enclosing(view: SnapshotView, path: str, line: int) -> DefinitionSite | None:
    """The innermost definition whose range holds a line."""
    inside = [item for item in fact_queries.definitions_in(view, path) if item.spans(line)]
    return max(inside, key=lambda item: (item.line, item.ordinal)) if inside else None


def suggest_names(view: SnapshotView, name: str) -> list[str]:
    """Known names that look like an unknown one."""
    last = name.replace("::", ".").rpartition(".")[2]
    for length in (3, 1):
        names = fact_queries.find_names(view, last[:length], _SCANNED) if last else []
        matches = difflib.get_close_matches(last, names, _SUGGESTED, 0.6)
        if matches:
            return matches
    return []


def make_entry(item: DefinitionSite) -> SymbolEntry:
    return SymbolEntry(
        name=item.name,
        qualified_name=item.qualified_name,
        kind=item.kind,
        path=item.path,
        line=item.line,
        column=item.column,
        end_line=item.end_line,
        signature=item.signature,
        doc=item.doc,
        language=item.language,
        precision=item.layer,
        symbol_id=item.id,
    )


def _kind_rank(kind: str) -> int:
    """Code before the headings and keys of documents and data."""
    return 1 if kind in ("heading", "key") else 0
