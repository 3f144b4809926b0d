"""UI-2: what a typed place or name means."""

from __future__ import annotations

from typing import Any

import pytest

from gitindex.errors import UsageError
from gitindex.navigate.place_syntax import Position, find_definitions, parse_position
from tests.navigate.sites import TableLayers, site


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a.py:1", Position("a.py", 1, None)),
        ("a/b.py:12:3", Position("a/b.py", 12, 3)),
        ("Outer.inner", None),
        ("a.py#name:3", None),
        ("a::b", None),
    ],
)
def test_positions(text: str, position: Position | None):
    assert parse_position(text) == position


@pytest.mark.parametrize("text", ["a.py:0", "a.py:1:0"])
def test_lines_and_columns_count_from_one(text: str):
    with pytest.raises(UsageError, match="count from 1"):
        parse_position(text)


def test_a_symbol_id_means_one_of_the_definitions_with_its_name():
    layers: Any = TableLayers(definitions=[site("f", 1), site("f", 7)])
    assert [item.line for item in find_definitions(layers, "a.py#f:7")] == [7]
    assert layers.asked == ["a.py#f"]
    assert len(find_definitions(layers, "a.py:3:4")) == 2
    assert layers.asked[-1] == ("a.py", 3, 4)
    assert find_definitions(layers, "a.py:3") == []
