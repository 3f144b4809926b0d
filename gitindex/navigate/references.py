"""References to a definition, apart from occurrences that only share its name (QU-3)."""

from __future__ import annotations

from collections.abc import Sequence

from gitindex.model.frozen import frozen
from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.navigate.layer import Layers, Reference

LIMIT = 500


@frozen
class DefinitionPlace:
    """A definition as an answer about its references names it."""

    path: str
    line: int
    column: int
    qualified_name: str
    kind: str
    precision: str
    symbol_id: str


@frozen
class ReferenceList:
    """`references` are tied to the definitions, `candidates` only share the name; counts are those before any limit."""

    definitions: tuple[DefinitionPlace, ...]
    references: tuple[Reference, ...]
    reference_count: int
    candidates: tuple[Reference, ...]
    unresolved_count: int

    @property
    def truncated(self) -> bool:
        return len(self.references) + len(self.candidates) < self.reference_count + self.unresolved_count


def collect_references(
    layers: Layers, targets: Sequence[DefinitionSite], limit: int = LIMIT
) -> ReferenceList:
    """At most `limit` occurrences, proven references before candidates."""
    occurrences = layers.find_references(targets)
    references = occurrences.proven[:limit]
    candidates = occurrences.candidates[: max(limit - len(references), 0)]
    return ReferenceList(
        definitions=tuple(_make_place(item) for item in targets),
        references=tuple(references),
        reference_count=len(occurrences.proven),
        candidates=tuple(candidates),
        unresolved_count=len(occurrences.candidates),
    )


def _make_place(item: DefinitionSite) -> DefinitionPlace:
    return DefinitionPlace(
        path=item.path,
        line=item.line,
        column=item.column,
        qualified_name=item.qualified_name,
        kind=item.kind,
        precision=item.layer,
        symbol_id=item.id,
    )
