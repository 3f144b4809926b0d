"""`navigate.syntactic_layer`: which occurrences of a name are references to a definition."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gitindex.navigate.layer import References
from gitindex.navigate.syntactic_layer import SyntacticLayer

TARGET, OTHER = ("a.py", 1, 5), ("b.py", 9, 5)


@pytest.mark.parametrize(
    ("sure", "resolved_to", "listed"),
    [
        (True, [TARGET], "proven"),
        (True, [OTHER], ""),
        (False, [TARGET, OTHER], "candidates"),
        (False, [OTHER], ""),
        (False, [], "candidates"),
    ],
    ids=["certainly it", "certainly another", "perhaps it", "perhaps another", "nobody knows"],
)
def test_an_occurrence_is_proven_a_candidate_or_neither(
    sure: bool, resolved_to: list[tuple[str, int, int]], listed: str
):
    targets = [SimpleNamespace(place=place) for place in resolved_to]
    resolution = SimpleNamespace(sure=sure, targets=targets, how="scope")
    layer: Any = SyntacticLayer.__new__(SyntacticLayer)
    layer._texts = SimpleNamespace(line=lambda path, line: "    return total(items)\n")
    layer._classify = lambda *_: ("call", resolution)
    answer = References()
    layer._add_reference(answer, "total", ("c.py", 3, 12), {TARGET})
    found = {"proven": answer.proven, "candidates": answer.candidates}
    assert {name for name, items in found.items() if items} == ({listed} if listed else set())
    assert all(item.text == "return total(items)" for items in found.values() for item in items)
