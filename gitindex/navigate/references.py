"""References to a definition, told apart from mere agreement of names (QU-3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.navigate.layer import Layers, Reference

LIMIT = 500


def collect_references(
    layers: Layers, targets: Sequence[DefinitionSite], limit: int = LIMIT
) -> dict[str, Any]:
    """`collect_references` are tied to the definitions; `candidates` only share the name, `unresolved_count` counts them."""
    answer = layers.find_references(targets)
    shown = answer.proven[:limit]
    candidates = answer.candidates[: max(limit - len(shown), 0)]
    return {
        "definitions": [_definition_json(item) for item in targets],
        "references": [_reference_json(item) for item in shown],
        "reference_count": len(answer.proven),
        "candidates": [_reference_json(item) for item in candidates],
        "unresolved_count": len(answer.candidates),
        "truncated": len(shown) + len(candidates) < len(answer.proven) + len(answer.candidates),
    }


def _definition_json(item: DefinitionSite) -> dict[str, Any]:
    return {
        "path": item.path,
        "line": item.line,
        "column": item.column,
        "qualified_name": item.qualified_name,
        "kind": item.kind,
        "precision": item.layer,
        "symbol_id": item.id,
    }


def _reference_json(item: Reference) -> dict[str, Any]:
    return item._asdict()
