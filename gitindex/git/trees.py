"""Parses raw tree objects and compares two of them, without opening subtrees that are equal.

Git's own diff collects every difference before it prints the first one, and libgit2 makes an object of each; a tree
that holds itself many times over would keep them busy for hours. Here each difference is counted as it is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gitindex.git.failure import Damage, damage_error
from gitindex.git.object_values import TreeChange, TreeEntry
from gitindex.git.repo import Repo
from gitindex.git.tree_limits import check_file_count, check_path_length

TREE = 0o040000

# Plain tuples, unpacked where they are used: every entry of every tree that is walked becomes one.
Child = tuple[int, bytes, bytes]  # mode, name, raw id
Children = Callable[[bytes], Iterator[Child]]
_Side = tuple[int, bytes] | None  # mode and raw id of one name in one of two trees; None where it is absent


def parse_tree(tree: bytes, data: bytes) -> Iterator[Child]:
    """The entries of the tree with this raw id. Raises GitDamaged for bytes that are no tree."""
    offset = 0
    try:
        while offset < len(data):
            space = data.index(b" ", offset)
            end = data.index(b"\0", space) + 1
            mode = canonical_mode(int(data[offset:space], 8))
            offset = end + len(tree)
            if offset > len(data):
                raise ValueError("cut off")
            yield mode, data[space + 1 : end - 1], data[end:offset]
    except ValueError as error:
        raise damage_error(
            Damage.OBJECT, f"git tree {tree.hex()} is damaged", object_id=tree.hex()
        ) from error


def canonical_mode(mode: int) -> int:
    """As git reads it: old tools stored 100664, which means 100644."""
    if mode & 0o170000 == 0o100000:
        return 0o100755 if mode & 0o100 else 0o100644
    return mode


def diff_trees(repo: Repo, children: Children, old: bytes | None, new: bytes | None) -> list[TreeChange]:
    """What differs between two trees, by raw id, sorted by path. Raises TreeTooLarge."""
    return sorted(_walk_differences(repo, children, old, new), key=lambda change: change.path)


def _walk_differences(
    repo: Repo, children: Children, old: bytes | None, new: bytes | None
) -> Iterator[TreeChange]:
    """Paths that are a file (link, submodule) on some side and not the same on both."""
    pending: list[tuple[bytes, bytes | None, bytes | None]] = [(b"", old, new)]
    count = 0
    while pending:
        prefix, old_tree, new_tree = pending.pop()
        old_entries, new_entries = _entries_by_name(children, old_tree), _entries_by_name(children, new_tree)
        for name in old_entries.keys() | new_entries.keys():
            old_side, new_side = old_entries.get(name), new_entries.get(name)
            if old_side == new_side:
                continue
            count += 1
            check_file_count(repo, count)
            path = prefix + name
            check_path_length(path)
            subtrees = _subtree(old_side), _subtree(new_side)
            if any(subtrees):
                pending.append((path + b"/", *subtrees))
            change = TreeChange(path, _file_entry(path, old_side), _file_entry(path, new_side))
            if change.old or change.new:
                yield change


def _entries_by_name(children: Children, tree: bytes | None) -> dict[bytes, tuple[int, bytes]]:
    return {} if tree is None else {name: (mode, raw_id) for mode, name, raw_id in children(tree)}


def _subtree(side: _Side) -> bytes | None:
    if side is None:
        return None
    mode, raw_id = side
    return raw_id if mode == TREE else None


def _file_entry(path: bytes, side: _Side) -> TreeEntry | None:
    if side is None:
        return None
    mode, raw_id = side
    return None if mode == TREE else TreeEntry(path, mode, raw_id.hex())
