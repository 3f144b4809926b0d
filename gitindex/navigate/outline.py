"""The definitions of one file, nested as they are written (QU-3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace

from gitindex.model.frozen import frozen
from gitindex.navigate import fact_queries
from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.view.snapshot import SnapshotView


@frozen
class OutlineEntry:
    """A definition of a file with the definitions inside it."""

    name: str
    qualified_name: str
    kind: str
    line: int
    column: int
    end_line: int
    signature: str
    doc: str
    symbol_id: str
    precision: str
    children: tuple[OutlineEntry, ...]


def build_outline(
    view: SnapshotView, path: str, label: Callable[[DefinitionSite], DefinitionSite] = lambda item: item
) -> tuple[OutlineEntry, ...]:
    """Top-level definitions with their `children`, in source order; `label` says how exact each one is."""
    definitions = [label(item) for item in fact_queries.definitions_in(view, path)]
    children: dict[int, list[OutlineEntry]] = defaultdict(list)  # by the parent's index, last child first
    # A parent stands before its children: from the end, all children of a definition exist before it does.
    for index in range(len(definitions) - 1, -1, -1):
        entry = _make_entry(definitions[index], reversed(children[index]))
        children[max(definitions[index].parent, -1)].append(entry)
    return tuple(reversed(children[-1]))


def render_text(entries: Iterable[OutlineEntry], depth: int = 0) -> list[str]:
    lines = []
    for entry in entries:
        lines.append(f"{entry.line:>5}  {'  ' * depth}{entry.signature or entry.name}")
        lines += render_text(entry.children, depth + 1)
    return lines


def drop_docs(entries: Iterable[OutlineEntry]) -> tuple[OutlineEntry, ...]:
    """A shorter outline that still has every definition."""
    return tuple(replace(entry, doc="", children=drop_docs(entry.children)) for entry in entries)


def _make_entry(item: DefinitionSite, children: Iterable[OutlineEntry]) -> OutlineEntry:
    return OutlineEntry(
        name=item.name,
        qualified_name=item.qualified_name,
        kind=item.kind,
        line=item.line,
        column=item.column,
        end_line=item.end_line,
        signature=item.signature,
        doc=item.doc,
        symbol_id=item.id,
        precision=item.layer,
        children=tuple(children),
    )
