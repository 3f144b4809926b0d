"""Raw tree objects: parsed, compared, and bounded (EL-8)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.errors import GitDamaged, TreeTooLarge
from gitindex.git.object_values import TreeChange, TreeEntry
from gitindex.git.repo import Repo
from gitindex.git.tree_limits import (
    MAX_PATH,
    check_file_count,
    check_path_length,
    check_tree_size,
    max_tree_bytes,
)
from gitindex.git.trees import TREE, Child, canonical_mode, diff_trees, parse_tree

REPO = Repo(
    root=Path("/r"),
    git_dir=Path("/r/.git"),
    common_dir=Path("/r/.git"),
    algorithm="sha1",
    bare=False,
    shallow=False,
    max_files=10,
)
FILE = 0o100644


def raw_id(number: int) -> bytes:
    return bytes([number]) * 20


def entry(path: bytes, number: int, mode: int = FILE) -> TreeEntry:
    return TreeEntry(path, mode, raw_id(number).hex())


def test_entries_are_mode_name_and_id():
    data = b"40000 dir\0" + raw_id(1) + b"100664 a b\0" + raw_id(2)
    assert list(parse_tree(raw_id(9), data)) == [(TREE, b"dir", raw_id(1)), (FILE, b"a b", raw_id(2))]


@pytest.mark.parametrize("data", [b"100644 a\0" + raw_id(1)[:19], b"100644 a", b"x a\0" + raw_id(1)])
def test_bytes_that_are_no_tree_are_damage(data: bytes):
    with pytest.raises(GitDamaged, match=raw_id(9).hex()):
        list(parse_tree(raw_id(9), data))


def test_modes_are_those_that_git_reads():
    assert [oct(canonical_mode(mode)) for mode in (0o100664, 0o100775, 0o120000, TREE)] == [
        "0o100644",
        "0o100755",
        "0o120000",
        "0o40000",
    ]


def test_equal_subtrees_are_not_opened_and_a_changed_type_is_one_change():
    trees: dict[bytes, list[Child]] = {
        raw_id(1): [(TREE, b"same", raw_id(7)), (FILE, b"type", raw_id(4)), (FILE, b"z", raw_id(5))],
        raw_id(2): [(TREE, b"same", raw_id(7)), (TREE, b"type", raw_id(3)), (FILE, b"a", raw_id(6))],
        raw_id(3): [(FILE, b"new", raw_id(8))],
    }
    changes = diff_trees(REPO, lambda tree: iter(trees[tree]), raw_id(1), raw_id(2))
    assert changes == [
        TreeChange(b"a", None, entry(b"a", 6)),
        TreeChange(b"type", entry(b"type", 4), None),
        TreeChange(b"type/new", None, entry(b"type/new", 8)),
        TreeChange(b"z", entry(b"z", 5), None),
    ]
    assert diff_trees(REPO, lambda tree: iter(trees[tree]), None, raw_id(3)) == [
        TreeChange(b"new", None, entry(b"new", 8))
    ]


def test_limits_hold_at_the_bound_and_not_before():
    check_file_count(REPO, 10)
    with pytest.raises(TreeTooLarge):
        check_file_count(REPO, 11)
    check_path_length(b"x" * MAX_PATH)
    with pytest.raises(TreeTooLarge):
        check_path_length(b"x" * (MAX_PATH + 1))
    largest = max_tree_bytes(replace(REPO, max_files=10))
    check_tree_size(REPO, largest - 1)
    with pytest.raises(TreeTooLarge):
        check_tree_size(REPO, largest)


def test_a_tree_that_differs_everywhere_stops_at_the_limit():
    names = [(FILE, b"%d" % number, raw_id(number)) for number in range(11)]
    with pytest.raises(TreeTooLarge):
        diff_trees(REPO, lambda _: iter(names), None, raw_id(1))
