"""References to a definition, told apart from mere agreement of names (QU-3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitindex.navigate.fact_queries import Definition
from gitindex.navigate.layer import Layers, Reference

LIMIT = 500


def references(layers: Layers, targets: Sequence[Definition], limit: int = LIMIT) -> dict[str, Any]:
    """`references` are tied to the definitions; `candidates` only share the name, `unresolved_count` counts them."""
    answer = layers.references(targets)
    shown = answer.found[:limit]
    guesses = answer.candidates[: max(limit - len(shown), 0)]
    return {
        "definitions": [_place(item) for item in targets],
        "references": [_json(item) for item in shown],
        "reference_count": len(answer.found),
        "candidates": [_json(item) for item in guesses],
        "unresolved_count": len(answer.candidates),
        "truncated": len(shown) + len(guesses) < len(answer.found) + len(answer.candidates),
    }


def _place(item: Definition) -> dict[str, Any]:
    return {
        "path": item.path,
        "line": item.line,
        "column": item.column,
        "qualified_name": item.qualified_name,
        "kind": item.kind,
        "precision": item.layer,
        "symbol_id": item.id,
    }


def _json(item: Reference) -> dict[str, Any]:
    return item._asdict()
