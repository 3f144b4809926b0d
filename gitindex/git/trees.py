"""Raw tree objects: parsed, and compared without opening what is equal.

Git's own diff collects every difference before it says the first one, and libgit2 makes an object of each; a tree that
holds itself many times over would keep them busy for hours. Here differences are counted as they are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gitindex.git.failure import Damage, damage_error
from gitindex.git.repo import Repo
from gitindex.git.tree_limits import check_file_count, check_path_length

TREE = 0o040000

Child = tuple[int, bytes, bytes]  # mode, name, raw id
Children = Callable[[bytes], Iterator[Child]]
Side = tuple[int, bytes] | None


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


def diff_trees(
    repo: Repo, children: Children, old: bytes | None, new: bytes | None
) -> Iterator[tuple[bytes, Side, Side]]:
    """Paths that are a file (link, submodule) on some side and not the same on both. Raises TreeTooLarge."""
    pending: list[tuple[bytes, bytes | None, bytes | None]] = [(b"", old, new)]
    count = 0
    while pending:
        prefix, before, after = pending.pop()
        left, right = _entries_by_name(children, before), _entries_by_name(children, after)
        for name in left.keys() | right.keys():
            was, now = left.get(name), right.get(name)
            if was == now:
                continue
            count += 1
            check_file_count(repo, count)
            path = prefix + name
            check_path_length(path)
            deeper = [side[1] if side and side[0] == TREE else None for side in (was, now)]
            if any(deeper):
                pending.append((path + b"/", deeper[0], deeper[1]))
            files = [None if side is None or side[0] == TREE else side for side in (was, now)]
            if any(files):
                yield path, files[0], files[1]


def _entries_by_name(children: Children, tree: bytes | None) -> dict[bytes, tuple[int, bytes]]:
    return {} if tree is None else {name: (mode, child) for mode, name, child in children(tree)}
