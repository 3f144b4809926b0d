"""Differences between two trees (CS-1)."""

from __future__ import annotations

from gitindex.model.change_set import ChangeSet
from gitindex.model.paths import path_key
from gitindex.model.rulefiles import is_rule_file

A, B, C, D, E = map(path_key, "abcde")


def test_a_rename_is_written_and_removed():
    changes = ChangeSet(add=(C,), modify=(A,), delete=(E,), rename=((D, B),))
    assert changes.written_paths == (A, B, C)
    assert changes.removed_paths == (D, E)
    assert changes.count_by_kind() == {"add": 1, "modify": 1, "delete": 1, "rename": 1}


def test_any_list_makes_it_a_change():
    assert ChangeSet().is_empty
    for changes in (
        ChangeSet(add=(A,)),
        ChangeSet(modify=(A,)),
        ChangeSet(delete=(A,)),
        ChangeSet(rename=((A, B),)),
    ):
        assert not changes.is_empty


def test_rule_files():
    """CF-2: our own counts at the root only, git's in any directory."""
    assert is_rule_file(".gitindexignore")
    assert is_rule_file(".gitignore")
    assert is_rule_file("a/b/.gitignore")
    assert not is_rule_file("a/.gitindexignore")
    assert not is_rule_file("a/x.gitignore")
