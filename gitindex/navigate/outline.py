"""The definitions of one file, nested as they are written (QU-3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gitindex.navigate import fact_queries
from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.view.snapshot import SnapshotView


def build_outline(
    view: SnapshotView, path: str, label: Callable[[DefinitionSite], DefinitionSite] = lambda item: item
) -> list[dict[str, Any]]:
    """Top-level definitions with their `children`, in source order; `label` says how exact each one is."""
    definitions = [label(item) for item in fact_queries.definitions_in(view, path)]
    entries = [_entry_json(item) for item in definitions]
    top: list[dict[str, Any]] = []
    for item, entry in zip(definitions, entries, strict=True):
        (entries[item.parent]["children"] if item.parent >= 0 else top).append(entry)
    return top


def render_text(entries: list[dict[str, Any]], depth: int = 0) -> list[str]:
    lines = []
    for entry in entries:
        lines.append(f"{entry['line']:>5}  {'  ' * depth}{entry['signature'] or entry['name']}")
        lines += render_text(entry["children"], depth + 1)
    return lines


def drop_docs(entries: list[dict[str, Any]]) -> None:
    """Make a long outline shorter without losing a definition."""
    for entry in entries:
        entry["doc"] = ""
        drop_docs(entry["children"])


def _entry_json(item: DefinitionSite) -> dict[str, Any]:
    return {
        "name": item.name,
        "qualified_name": item.qualified_name,
        "kind": item.kind,
        "line": item.line,
        "column": item.column,
        "end_line": item.end_line,
        "signature": item.signature,
        "doc": item.doc,
        "symbol_id": item.id,
        "precision": item.layer,
        "children": [],
    }
