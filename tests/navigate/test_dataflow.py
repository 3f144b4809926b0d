"""QU-3: what each statement of a function writes and reads."""

from __future__ import annotations

from gitindex.navigate.dataflow import find_statements

CODE = b"""def f(a, b):
    x = a.b + 1
    for i in range(x):
        x += i
    c[i] = x
    def g():
        return x
"""


def test_statements_of_a_function():
    statements = find_statements("python", CODE, 2)
    assert statements is not None
    parameters, assignment, loop, update, item = statements
    assert parameters.writes == {"a", "b"}
    assert (assignment.line, assignment.writes, assignment.reads) == (2, {"x"}, {"a"}), "`b` is an attribute"
    assert (loop.is_head, loop.is_loop, loop.writes) == (True, True, {"i"})
    assert (update.parent, update.writes, update.reads) == (statements.index(loop), {"x"}, {"x", "i"})
    assert item.writes == frozenset(), "an element is written, not the variable"
    assert {"c", "i", "x"} <= item.reads


def test_an_inner_function_is_a_scope_of_its_own():
    inner = find_statements("python", CODE, 7)
    assert inner is not None
    assert [item.line for item in inner if item.reads] == [7]


def test_no_grammar_no_statements():
    assert find_statements("nonesuch", CODE, 1) is None
