"""QU-3: drawings of a call graph; names are data and cannot break the syntax."""

from __future__ import annotations

from gitindex.navigate.callgraph import CALLEES, CALLERS, CallGraph
from gitindex.navigate.diagram import render_dot, render_mermaid, render_text
from tests.navigate.sites import edge, site

A, B = site("a"), site("b", 2)
LOOP = CallGraph(A, CALLEES, 2, {A.id: A, B.id: B}, [edge(A, B, 7), edge(B, A, 8)])


def test_text_is_a_tree_that_opens_no_node_twice():
    assert render_text(LOOP).splitlines() == [
        "a  a.py:1",
        "  → b  a.py:7",
        "    → a  a.py:8  (above)",
    ]


def test_a_caller_at_file_level_is_a_node_of_its_file():
    graph = CallGraph(A, CALLERS, 1, {A.id: A}, [edge(None, A, 3)])
    assert "← file level  a.py:3" in render_text(graph)
    assert render_mermaid(graph).count("-->") == render_dot(graph).count("->") == 1


def test_labels_are_escaped():
    odd = site('x"]<b>')
    graph = CallGraph(odd, CALLEES, 1, {odd.id: odd})
    assert render_mermaid(graph).splitlines()[1] == '  n0["x#34;]#60;b#62; a.py:1"]'
    assert '[label="x\\"]<b> a.py:1"]' in render_dot(graph)
