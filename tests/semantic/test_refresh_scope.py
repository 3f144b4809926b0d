"""SE-4: scopes form a lattice; merging never narrows."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitindex.errors import ExactFactsError
from gitindex.semantic.refresh_scope import canonical_scope, covers, from_json, merge, selects, to_json

paths = st.sampled_from(["a/x.py", "a/y.py", "b/z.py", "a/s/t.py", "top.py"])
packages = st.sampled_from(["a", "b", "a/s"])
scopes = st.one_of(
    st.none(),
    st.builds(
        canonical_scope,
        st.lists(paths, max_size=3).map(tuple),
        st.lists(packages, max_size=2).map(tuple),
        st.one_of(st.none(), st.floats(0, 9)),
    ),
)


@given(scopes, scopes, scopes)
def test_lattice_laws(a, b, c):
    assert merge(a, b) == merge(b, a)
    assert merge(a, merge(b, c)) == merge(merge(a, b), c)
    assert merge(a, a) == a
    assert covers(merge(a, b), a)
    assert covers(merge(a, b), b)
    assert covers(None, a)
    assert from_json(to_json(a)) == a


@given(scopes, scopes, paths, st.one_of(st.none(), st.floats(0, 9)))
def test_what_either_selects_the_merge_selects(a, b, path, changed):
    assert selects(merge(a, b), path, changed) == (selects(a, path, changed) or selects(b, path, changed))


def test_the_chain_of_document_000():
    chain = [
        canonical_scope(("a/x.py",)),
        canonical_scope(("a/x.py", "a/y.py")),
        canonical_scope(packages=("a",)),
        None,
    ]
    for narrow, wide in pairwise(chain):
        assert covers(wide, narrow)
        assert not covers(narrow, wide)
    assert covers(canonical_scope(changed_since=1.0), canonical_scope(changed_since=2.0))
    assert not covers(canonical_scope(changed_since=2.0), canonical_scope(changed_since=1.0))
    assert covers(canonical_scope(changed_since=0.0), canonical_scope(changed_since=0.5))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": 1}'])
def test_an_unreadable_scope_is_named(text):
    with pytest.raises(ExactFactsError, match="scope"):
        from_json(text)
