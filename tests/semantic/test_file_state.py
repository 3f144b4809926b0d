"""SE-5, SE-6: the state table of document 000, cell by cell; cycles; ten thousand files; the gate and its
witnesses.
"""

from __future__ import annotations

import itertools
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.semantic import mutation
from gitindex.semantic.file_state import Certainty, DependencyGraph, FileFacts, FileState, Freshness
from gitindex.semantic.mutation import ALLOWED, BLOCKED, NEEDS_DECISION, Decision

CLEAN = FileFacts("h", "h")
UNINDEXED = FileFacts("h")
DIRTY_UNKNOWN = FileFacts("new", "old")
DIRTY_CHANGED = FileFacts("new", "old", "i2", "i1")
DIRTY_SAME = FileFacts("new", "old", "i", "i")
UNSURE = FileFacts("h", "h", ambiguity=("overload",))

# own facts, facts of the one dependency (None: no dependency) → freshness, certainty
CELLS = [
    (UNINDEXED, None, "unindexed", "unknown"),
    (UNINDEXED, DIRTY_CHANGED, "unindexed", "unknown"),
    (DIRTY_UNKNOWN, None, "dirty", "unknown"),
    (DIRTY_SAME, DIRTY_CHANGED, "dirty", "unknown"),
    (CLEAN, None, "clean", "certain"),
    (CLEAN, CLEAN, "clean", "certain"),
    (CLEAN, UNINDEXED, "clean", "certain"),
    (CLEAN, DIRTY_SAME, "clean", "certain"),
    (CLEAN, DIRTY_UNKNOWN, "pending_check", "certain"),
    (CLEAN, DIRTY_CHANGED, "stale", "certain"),
    (UNSURE, None, "clean", "ambiguous"),
    (UNSURE, DIRTY_UNKNOWN, "pending_check", "ambiguous"),
    (UNSURE, DIRTY_CHANGED, "stale", "ambiguous"),
]


@pytest.mark.parametrize(("own", "dependency", "freshness", "certainty"), CELLS)
def test_every_cell(own, dependency, freshness, certainty):
    facts = {"a.py": own} | ({"b.py": dependency} if dependency else {})
    state = DependencyGraph(facts, {"a.py": ["b.py"]} if dependency else {}).file_state("a.py")
    assert (state.freshness, state.certainty) == (freshness, certainty)
    assert state.because == ("b.py" if freshness in ("stale", "pending_check") else "")


def test_stale_wins_over_pending_and_spreads():
    facts = {"a": CLEAN, "b": CLEAN, "c": DIRTY_CHANGED, "d": DIRTY_UNKNOWN, "e": CLEAN}
    graph = DependencyGraph(facts, {"a": ["b", "d"], "b": ["c"], "e": ["d"]})
    assert [graph.file_state(p).freshness for p in "abcde"] == [
        "stale",
        "stale",
        "dirty",
        "dirty",
        "pending_check",
    ]
    assert graph.file_state("a").because == "c"


def test_a_file_nobody_knows_is_unindexed():
    assert DependencyGraph({}, {"x": ["y"]}).file_state("x") == FileState(
        Freshness.UNINDEXED, Certainty.UNKNOWN
    )


KINDS = [CLEAN, UNINDEXED, DIRTY_UNKNOWN, DIRTY_CHANGED, DIRTY_SAME, UNSURE]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_fixpoint_agrees_on_any_graph(data):
    """Cycles included: the same answer as iterating the rules until nothing changes."""
    n = data.draw(st.integers(1, 7))
    nodes = [f"f{i}" for i in range(n)]
    facts = {node: data.draw(st.sampled_from(KINDS)) for node in nodes}
    edges = {node: data.draw(st.lists(st.sampled_from(nodes), max_size=3)) for node in nodes}
    stale = {p for p in nodes if facts[p] is DIRTY_CHANGED}
    pending = {p for p in nodes if facts[p] is DIRTY_UNKNOWN}
    for marked in (stale, pending):
        for _ in nodes:
            marked |= {p for p in nodes if marked & set(edges[p])}
    graph = DependencyGraph(facts, edges)
    for path in nodes:
        if facts[path] is UNINDEXED:
            want = "unindexed"
        elif facts[path].content_hash != facts[path].indexed_hash:
            want = "dirty"
        else:
            reach_stale = stale & set(edges[path])
            want = "stale" if reach_stale else "pending_check" if pending & set(edges[path]) else "clean"
        assert graph.file_state(path).freshness == want


def test_ten_thousand_files_in_one_cycle():
    nodes = [f"f{i}" for i in range(10_000)]
    facts = dict.fromkeys(nodes, CLEAN) | {"f5000": DIRTY_CHANGED}
    edges = {
        a: [b, nodes[(i * 7) % 10_000]] for i, (a, b) in enumerate(itertools.pairwise([*nodes, nodes[0]]))
    }
    states = DependencyGraph(facts, edges).file_states(nodes)
    assert {state.freshness for path, state in states.items() if path != "f5000"} == {"stale"}


# -- gate --------------------------------------------------------------------------------------------


def gate(facts, depends=None, find=None, head="H"):
    graph = DependencyGraph(facts, depends or {})
    return mutation.check_edit(facts, graph.file_states(facts), facts, head, find)


# Document 000, "Combined State → Mutation Behavior": every pair of the two axes. A dirty or unindexed file has no
# semantic identity to be certain of, so `unknown` is their only certainty.
BEHAVIOUR = {
    ("clean", "certain"): ALLOWED,
    ("clean", "ambiguous"): NEEDS_DECISION,
    ("dirty", "unknown"): BLOCKED,
    ("stale", "certain"): BLOCKED,
    ("stale", "ambiguous"): BLOCKED,
    ("pending_check", "certain"): BLOCKED,
    ("pending_check", "ambiguous"): BLOCKED,
    ("unindexed", "unknown"): BLOCKED,
}


def test_the_cells_are_all_there_is():
    assert {(freshness, certainty) for _, _, freshness, certainty in CELLS} == set(BEHAVIOUR)


@pytest.mark.parametrize(("own", "dependency", "freshness", "certainty"), CELLS)
def test_the_behaviour_column_of_the_table(own, dependency, freshness, certainty):
    """Asked about the file alone; its dependency is known but not to be edited."""
    facts = {"a.py": own} | ({"b.py": dependency} if dependency else {})
    states = DependencyGraph(facts, {"a.py": ["b.py"]} if dependency else {}).file_states(["a.py"])
    verdict = mutation.check_edit(["a.py"], states, facts, "H")
    assert verdict.gate == BEHAVIOUR[freshness, certainty]
    assert [witness.path for witness in verdict.witnesses] == (["a.py"] if verdict.gate == BLOCKED else [])
    assert list(verdict.ambiguous) == (["a.py"] if verdict.gate == NEEDS_DECISION else [])


def test_one_bad_file_blocks_all():
    for bad in (DIRTY_UNKNOWN, DIRTY_SAME, DIRTY_CHANGED, UNINDEXED):
        assert gate({"a": CLEAN, "b": bad, "c": UNSURE}).gate == BLOCKED


def test_a_witness_names_file_reason_and_command():
    verdict = gate({"a b.py": CLEAN, "-x'.py": DIRTY_CHANGED, "u.py": UNINDEXED}, {"a b.py": ["-x'.py"]})
    by_path = {w.path: w for w in verdict.witnesses}
    assert set(by_path) == {"a b.py", "-x'.py", "u.py"}
    assert by_path["a b.py"].freshness == "stale"
    assert by_path["a b.py"].because == "-x'.py"
    assert "interface of a dependency" in by_path["a b.py"].reason
    words = shlex.split(by_path["a b.py"].command)
    assert words == ["gitindex", "refresh", "--wait", "--files", "--", "-x'.py"]


def test_a_decision_is_replayed_only_for_the_same_question_commit_and_bytes():
    asked = gate({"a": UNSURE})
    answer = Decision(asked.signature, "H", {"a": "h"}, '["c1"]', "proof")
    store = {(asked.signature, "H"): answer}

    def find(signature, head):
        return store.get((signature, head))

    replayed = gate({"a": UNSURE}, find=find)
    assert (replayed.gate, replayed.decision) == (ALLOWED, answer)
    assert gate({"a": UNSURE}, find=find, head="other").gate == NEEDS_DECISION
    assert gate({"a": FileFacts("k", "k", ambiguity=("overload",))}, find=find).gate == NEEDS_DECISION
    assert gate({"a": FileFacts("h", "h", ambiguity=("dynamic",))}, find=find).gate == NEEDS_DECISION
    assert gate({"a": UNSURE, "b": UNSURE}, find=find).gate == NEEDS_DECISION
