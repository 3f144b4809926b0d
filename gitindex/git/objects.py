"""Trees and blobs by id. Two readers, one contract (`tests/git/test_objects.py` runs over both).

The git program starts in milliseconds and reads everything; libgit2 is quicker in bulk but cannot open every
repository. Paths are raw bytes; submodules appear as entries with mode 160000; trees never appear.

A tree may hold itself many times over: 76 kilobytes are enough for a million files. Readers count what they hand out
and stop at `Repo.max_files`, and at paths that no file system would take; a tree may be as deep as that allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from gitindex.errors import GitDamaged
from gitindex.git.failure import Damage, damage_error
from gitindex.git.trees import Side

# Git knows the empty tree without having it; it may be in no object database.
EMPTY_TREES = frozenset(
    {
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    }
)


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


class Objects(Protocol):
    def list_entries(self, tree: str) -> Iterator[TreeEntry]:
        """Every blob, symlink and submodule below `tree`, in raw path order. Raises TreeTooLarge."""

    def find_entry(self, tree: str, path: bytes) -> TreeEntry | None:
        """The entry at exactly this path; None for a directory or nothing."""

    def diff(self, old_tree: str | None, new_tree: str) -> list[TreeChange]:
        """What differs, sorted by path: no renames; a changed type is one change with both sides.

        Raises TreeTooLarge.
        """

    def read(self, blobs: Iterable[str], max_bytes: int) -> Iterator[Blob]:
        """Blobs in the order asked for. Raises GitDamaged naming an object that is missing or no blob."""

    def has(self, object_id: str) -> bool:
        """Whether the object is here, without asking a promisor for it."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def build_changes(differing: Iterable[tuple[bytes, Side, Side]]) -> list[TreeChange]:
    """Differences of two trees, sorted by path."""
    unsorted = (
        TreeChange(path, _make_entry(path, old), _make_entry(path, new)) for path, old, new in differing
    )
    return sorted(unsorted, key=lambda change: change.path)


def _make_entry(path: bytes, side: Side) -> TreeEntry | None:
    return TreeEntry(path, side[0], side[1].hex()) if side else None


def raw_tree_id(tree: str | None) -> bytes | None:
    """Raw, None for a tree without entries."""
    return None if tree is None or tree in EMPTY_TREES else bytes.fromhex(tree)


def missing_blob_error(object_id: str) -> GitDamaged:
    return damage_error(
        Damage.OBJECT, f"git object {object_id} is missing or not a blob", object_id=object_id
    )
