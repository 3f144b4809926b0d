"""QU-3: an outline nests as the file does, in source order."""

from __future__ import annotations

from typing import Any

import pytest

from gitindex.navigate import fact_queries, outline
from tests.navigate.sites import site

SITES = [
    site("A", 1, doc="d"),
    site("A.x", 2, parent=0, doc="d"),
    site("A.x.y", 3, parent=1),
    site("A.z", 4, parent=0),
    site("B", 5),
]
VIEW: Any = None


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> tuple[outline.OutlineEntry, ...]:
    monkeypatch.setattr(fact_queries, "definitions_in", lambda view, path: SITES)
    return outline.build_outline(VIEW, "a.py", lambda item: item._replace(layer="semantic"))


def test_children_are_nested_in_source_order(entries: tuple[outline.OutlineEntry, ...]):
    assert [line.split()[-1] for line in outline.render_text(entries)] == [
        "A()",
        "A.x()",
        "A.x.y()",
        "A.z()",
        "B()",
    ]
    assert [item.qualified_name for item in entries] == ["A", "B"]
    assert [item.qualified_name for item in entries[0].children] == ["A.x", "A.z"]
    assert entries[0].children[0].children[0].precision == "semantic"
    assert outline.render_text(entries)[2] == "    3      def A.x.y()"


def test_dropping_documentation_keeps_every_definition(entries: tuple[outline.OutlineEntry, ...]):
    short = outline.drop_docs(entries)
    assert outline.render_text(short) == outline.render_text(entries)
    assert (entries[0].children[0].doc, short[0].children[0].doc) == ("d", "")
