"""Limits to what is read of a tree: a few kilobytes of git objects can describe a billion files (EL-8)."""

from __future__ import annotations

from gitindex.errors import TreeTooLarge
from gitindex.git.repo import Repo
from gitindex.git.run import LARGE_HINT

MAX_PATH = 4096  # bytes; Linux accepts no longer path
_ENTRY = 300  # bytes of the longest entry of a tree object: mode, a name of 255 bytes, an id


def check_file_count(repo: Repo, count: int) -> None:
    """Raises TreeTooLarge."""
    if count > repo.max_files:
        raise TreeTooLarge(f"more than {repo.max_files:,} files in one tree", hint=LARGE_HINT)


def check_tree_size(repo: Repo, size: int) -> None:
    """Of a tree object. Raises TreeTooLarge."""
    check_file_count(repo, size // _ENTRY)


def max_tree_bytes(repo: Repo) -> int:
    """The size of the largest tree object that `check_tree_size` lets pass."""
    return (repo.max_files + 1) * _ENTRY


def check_path_length(path: bytes) -> None:
    """Raises TreeTooLarge."""
    if len(path) > MAX_PATH:
        display_path = path[:80].decode("utf-8", "backslashreplace")
        raise TreeTooLarge(f"a path of more than {MAX_PATH:,} bytes: {display_path}…", hint="git log --stat")
