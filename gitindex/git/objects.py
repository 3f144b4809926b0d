"""Reads trees and blobs by id. Two readers, one contract (`tests/git/test_objects.py` runs over both).

The git program starts in milliseconds and reads everything; libgit2 is quicker in bulk but cannot open every
repository. Paths are raw bytes; submodules appear as entries with mode 160000; trees never appear.

A tree may hold itself many times over: 76 kilobytes are enough for a million files. Readers count what they hand out
and stop at `Repo.max_files`, and at paths that no file system would take; a tree may be as deep as that allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Protocol, Self

from gitindex.git.object_values import Blob, TreeChange, TreeEntry
from gitindex.git.objects_cli import CliObjects
from gitindex.git.repo import Repo


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


def open_objects(repo: Repo, *, bulk: bool = False) -> Objects:
    """A reader for `repo`: libgit2 for bulk work it can do, the git program otherwise."""
    if bulk and repo.algorithm == "sha1" and repo.fault is None:
        from gitindex.git.objects_pygit2 import open_pygit2  # late: only bulk work pays for libgit2 (UI-3)

        bulk_reader = open_pygit2(repo)
        if bulk_reader is not None:
            return bulk_reader
    return CliObjects(repo)
