"""Lists the paths that git tracks where git is damaged: from its index, else from the tree of HEAD."""

from __future__ import annotations

from gitindex.errors import GitError, MissingObjects, TransientGitError, TreeTooLarge
from gitindex.git.indexfile import has_valid_checksum
from gitindex.git.repo import Repo
from gitindex.git.run import run
from gitindex.git.tree_limits import check_file_count

_LIST_COMMANDS = (("ls-files", "-z"), ("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"))


def list_tracked(repo: Repo) -> frozenset[bytes] | None:
    """None where git can read neither. Raises TreeTooLarge, TransientGitError, MissingObjects."""
    for command in _LIST_COMMANDS if has_valid_checksum(repo) else _LIST_COMMANDS[1:]:
        try:
            names = run(repo, *command).split(b"\0")[:-1]
        except (TransientGitError, TreeTooLarge, MissingObjects):
            raise
        except GitError:
            continue
        check_file_count(repo, len(names))
        return frozenset(names)
    return None
