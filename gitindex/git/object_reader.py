"""Opens the reader of git objects that suits the work. Apart from `objects`, whose values both readers use."""

from __future__ import annotations

from gitindex.git.objects import Objects
from gitindex.git.repo import Repo


def open_objects(repo: Repo, *, bulk: bool = False) -> Objects:
    """A reader for `repo`: libgit2 for bulk work it can do, the git program otherwise."""
    from gitindex.git.objects_cli import CliObjects

    if bulk and repo.algorithm == "sha1" and repo.fault is None:
        from gitindex.git.objects_pygit2 import open_pygit2

        bulk_reader = open_pygit2(repo)
        if bulk_reader is not None:
            return bulk_reader
    return CliObjects(repo)
