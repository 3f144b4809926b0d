"""What the readers of git objects return, and the failure they share. `git.objects` chooses a reader."""

from __future__ import annotations

from typing import NamedTuple

from gitindex.errors import GitDamaged
from gitindex.git.failure import Damage, damage_error

# Git knows the empty tree without having it; it may be in no object database.
EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
EMPTY_TREES = frozenset(EMPTY_TREE.values())


class TreeEntry(NamedTuple):
    path: bytes
    mode: int
    blob: str


class TreeChange(NamedTuple):
    path: bytes
    old: TreeEntry | None
    new: TreeEntry | None


class Blob(NamedTuple):
    id: str
    size: int
    data: bytes | None  # None when larger than asked for


def raw_tree_id(tree: str | None) -> bytes | None:
    """The id as bytes; None for a tree without entries."""
    return None if tree is None or tree in EMPTY_TREES else bytes.fromhex(tree)


def missing_blob_error(object_id: str) -> GitDamaged:
    return damage_error(
        Damage.OBJECT, f"git object {object_id} is missing or not a blob", object_id=object_id
    )
