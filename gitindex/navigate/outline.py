"""The definitions of one file, nested as they are written (QU-3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gitindex.navigate import fact_queries
from gitindex.navigate.fact_queries import Definition
from gitindex.view.snapshot import SnapshotView


def outline(
    view: SnapshotView, path: str, label: Callable[[Definition], Definition] = lambda item: item
) -> list[dict[str, Any]]:
    """Top-level definitions with their `children`, in source order; `label` says how exact each one is."""
    found = [label(item) for item in fact_queries.in_file(view, path)]
    made = [_entry(item) for item in found]
    top: list[dict[str, Any]] = []
    for item, entry in zip(found, made, strict=True):
        (made[item.parent]["children"] if item.parent >= 0 else top).append(entry)
    return top


def text(entries: list[dict[str, Any]], depth: int = 0) -> list[str]:
    lines = []
    for entry in entries:
        lines.append(f"{entry['line']:>5}  {'  ' * depth}{entry['signature'] or entry['name']}")
        lines += text(entry["children"], depth + 1)
    return lines


def drop_docs(entries: list[dict[str, Any]]) -> None:
    """Make a long outline shorter without losing a definition."""
    for entry in entries:
        entry["doc"] = ""
        drop_docs(entry["children"])


def _entry(item: Definition) -> dict[str, Any]:
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
