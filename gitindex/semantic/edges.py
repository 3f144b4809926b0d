"""Call edges of one document: where a syntactic call site names a global symbol, inside the innermost
definition (SE-8).

SCIP has no call role; the parser knows what is called, the index knows what that name means, together an
edge. Contradicted occurrences make no edge: a guess is never mixed into precise answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitindex.scip.fact_postings import DEFINITION, EXACT, QUALITY_SHIFT

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
    """One document as plain rows, in the forms that `scip.postings` unpacks."""

    hashes: Sequence[int]
    occurrences: Iterable[Sequence[int]]
    definitions: Iterable[Sequence[int]]


def find_call_edges(document: DecodedDocument | DocumentRows, calls: Iterable[Position]) -> list[CallEdge]:
    """`calls`: line and column (1-based) of the called names, as the extractor found them; in their order."""
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
        document.hashes.tolist(), document.occurrences.tolist(), document.definitions.tolist()
    )


def _collect_references(document: DocumentRows) -> dict[Position, list[int]]:
    """Global symbols that are referred to, by where their names start; only what no text contradicts."""
    references: dict[Position, list[int]] = {}
    for symbol, line, column, _, _, flags in document.occurrences:
        exact = flags >> QUALITY_SHIFT == EXACT
        if exact and not flags & DEFINITION and symbol < len(document.hashes):
            references.setdefault((line, column), []).append(document.hashes[symbol])
    return references


def _collect_bodies(document: DocumentRows) -> list[tuple[Position, Position, int]]:
    """Start, end and symbol of every global definition with a known extent, outer before inner."""
    bodies = []
    for row in document.definitions:
        symbol, start, end = row[0], (row[5], row[6]), (row[7], row[8])
        if start[0] and symbol < len(document.hashes):
            bodies.append((start, end, document.hashes[symbol]))
    return sorted(bodies, key=lambda body: (body[0], (-body[1][0], -body[1][1])))


def _find_innermost(
    bodies: list[tuple[Position, Position, int]], places: list[Position]
) -> dict[Position, int]:
    """One sweep over both sorted lists; the stack holds the bodies around the current place."""
    innermost: dict[Position, int] = {}
    stack: list[tuple[Position, int]] = []
    next_body = 0
    for place in places:
        while next_body < len(bodies) and bodies[next_body][0] <= place:
            start, end, symbol = bodies[next_body]
            while stack and stack[-1][0] <= start:
                stack.pop()
            stack.append((end, symbol))
            next_body += 1
        while stack and stack[-1][0] <= place:
            stack.pop()
        innermost[place] = stack[-1][1] if stack else FILE_LEVEL
    return innermost
