"""Call edges of one document: where a syntactic call site names a global symbol, inside the innermost
definition (SE-8).

SCIP has no call role. The parser knows which names are called, the SCIP index knows the symbol of each name; both
together make an edge. Occurrences that the text contradicts make no edge: exact answers contain no guesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitindex.scip.fact_postings import DEFINITION, EXACT, QUALITY_SHIFT, DefinitionRow, Occurrence

if TYPE_CHECKING:
    from gitindex.semantic.decode import DecodedDocument

FILE_LEVEL = 0  # as caller: not inside any definition

Position = tuple[int, int]


class CallEdge(NamedTuple):
    caller: int  # symbol hash, or FILE_LEVEL
    callee: int
    line: int
    column: int


class DocumentRows(NamedTuple):
    """One document as rows, in the forms that `scip.fact_postings` unpacks."""

    hashes: Sequence[int]
    occurrences: Iterable[Occurrence]
    definitions: Iterable[DefinitionRow]


class Body(NamedTuple):
    """The extent of a definition, half-open."""

    start: Position
    end: Position
    symbol: int  # hash


def find_call_edges(document: DecodedDocument | DocumentRows, calls: Iterable[Position]) -> list[CallEdge]:
    """Edges in order of position. `calls`: line and column (1-based) of the called names, from the extractor."""
    rows = document if isinstance(document, DocumentRows) else _to_rows(document)
    places = sorted(set(calls))
    callees = _collect_references(rows)
    callers = _find_innermost(_collect_bodies(rows), places)
    return [
        CallEdge(callers[place], callee, *place)
        for place in places
        for callee in callees.get(place, ())
        if callee
    ]


def _to_rows(document: DecodedDocument) -> DocumentRows:
    return DocumentRows(
        document.hashes.tolist(),
        [Occurrence(*row) for row in document.occurrences.tolist()],
        [DefinitionRow(*row) for row in document.definitions.tolist()],
    )


def _collect_references(document: DocumentRows) -> dict[Position, list[int]]:
    """Global symbols that are referred to, by where their names start; without contradicted occurrences."""
    references: dict[Position, list[int]] = {}
    for symbol, line, column, _, _, flags in document.occurrences:
        exact = flags >> QUALITY_SHIFT == EXACT
        if exact and not flags & DEFINITION and symbol < len(document.hashes):
            references.setdefault((line, column), []).append(document.hashes[symbol])
    return references


def _collect_bodies(document: DocumentRows) -> list[Body]:
    """The bodies of all global definitions whose extent the indexer gave, outer before inner."""
    bodies = [
        Body(
            (row.start_line, row.start_column), (row.stop_line, row.stop_column), document.hashes[row.symbol]
        )
        for row in document.definitions
        if row.start_line and row.symbol < len(document.hashes)
    ]
    return sorted(bodies, key=lambda body: (body.start, (-body.end[0], -body.end[1])))


def _find_innermost(bodies: list[Body], places: list[Position]) -> dict[Position, int]:
    """One sweep over both sorted lists; the stack holds the bodies around the current place."""
    innermost: dict[Position, int] = {}
    stack: list[Body] = []
    next_body = 0
    for place in places:
        while next_body < len(bodies) and bodies[next_body].start <= place:
            body = bodies[next_body]
            while stack and stack[-1].end <= body.start:
                stack.pop()
            stack.append(body)
            next_body += 1
        while stack and stack[-1].end <= place:
            stack.pop()
        innermost[place] = stack[-1].symbol if stack else FILE_LEVEL
    return innermost
