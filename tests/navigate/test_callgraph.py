"""QU-3, QU-4: how far a call graph goes, and what its summary counts."""

from __future__ import annotations

from typing import Any

from gitindex.navigate import callgraph
from gitindex.navigate.layer import Calls, CandidateCall
from tests.navigate.sites import TableLayers, edge, site

A, B, C, D = (site(name, line) for line, name in enumerate("abcd", 1))
CHAIN: Any = TableLayers({"a": Calls([edge(A, B)]), "b": Calls([edge(B, C)]), "c": Calls([edge(C, D)])})


def test_the_depth_bounds_the_walk():
    for depth, names in ((1, "ab"), (2, "abc"), (3, "abcd")):
        graph = callgraph.build(CHAIN, A, callgraph.CALLEES, depth)
        assert "".join(item.name for item in graph.nodes.values()) == names
        assert len(graph.edges) == depth


def test_edges_beyond_the_node_limit_are_counted():
    wide: Any = TableLayers({"a": Calls([edge(A, B), edge(A, C), edge(A, D)])})
    graph = callgraph.build(wide, A, callgraph.CALLEES, 1, limit=2)
    assert (len(graph.nodes), len(graph.edges), graph.left_out) == (2, 1, 2)
    summary = callgraph.summarize(graph, 50)
    assert (summary.left_out_edges, summary.truncated) == (2, True)
    assert not callgraph.summarize(callgraph.build(wide, A, callgraph.CALLEES, 1, limit=4), 50).truncated


def test_candidates_are_never_followed_and_each_has_a_note():
    guess = CandidateCall(A, "run", "it", "a.py", 4, 2, (B, C))
    layers: Any = TableLayers({"a": Calls(candidates=[guess, guess]), "b": Calls([edge(B, D)])})
    summary = callgraph.summarize(callgraph.build(layers, A, callgraph.CALLEES, 3), 50)
    assert [node.name for node in summary.nodes] == ["a"]
    (candidate,) = summary.candidate_edges
    assert (candidate.candidates, candidate.candidate_count, candidate.precision) == ((B.id, C.id), 2, "text")
    (note,) = summary.note_list.notes
    assert (note.type, note.detail) == ("ambiguous_call", f"it.run may mean {B.id}, {C.id}")
