"""QU-3, QU-4: proven references come before candidates, and the counts are those before the limit."""

from __future__ import annotations

from typing import Any

import pytest

from gitindex.navigate.layer import Reference, References
from gitindex.navigate.references import collect_references
from tests.navigate.sites import TableLayers, site

PROVEN = [Reference("a.py", line, 1, "call", "syntactic", "import") for line in range(3)]
CANDIDATES = [Reference("b.py", line, 1, "call", "text", "name") for line in range(2)]


@pytest.mark.parametrize(
    ("limit", "shown", "truncated"),
    [(2, (2, 0), True), (4, (3, 1), True), (5, (3, 2), False), (9, (3, 2), False)],
)
def test_a_limit_keeps_the_proven_ones(limit: int, shown: tuple[int, int], truncated: bool):
    layers: Any = TableLayers(references=References(PROVEN, CANDIDATES))
    found = collect_references(layers, [site("f")], limit)
    assert (len(found.references), len(found.candidates)) == shown
    assert (found.reference_count, found.unresolved_count, found.truncated) == (3, 2, truncated)
    assert found.definitions[0].symbol_id == "a.py#f:1"
