"""Which paths git tracks, from whatever of it can still be read: its index, else the tree of HEAD."""

from __future__ import annotations

from gitindex.errors import GitError, MissingObjects, TransientGitError, TreeTooLarge
from gitindex.git.indexfile import is_whole
from gitindex.git.repo import Repo
from gitindex.git.run import run
from gitindex.git.tree_limits import few_enough

_LISTS = (("ls-files", "-z"), ("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"))


def list_tracked(repo: Repo) -> frozenset[bytes] | None:
    """None where git can read neither. Raises TreeTooLarge, TransientGitError, MissingObjects."""
    for command in _LISTS if is_whole(repo) else _LISTS[1:]:
        try:
            names = run(repo, *command).split(b"\0")[:-1]
        except (TransientGitError, TreeTooLarge, MissingObjects):
            raise
        except GitError:
            continue
        few_enough(repo, len(names))
        return frozenset(names)
    return None
