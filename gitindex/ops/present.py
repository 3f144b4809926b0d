"""What git says of the present, asked for early: git looks at the working tree while we load and search.

Invariant: an answer never rests on a look that began before its snapshot was published. The pointer is read
first; when another snapshot was pinned in the end, git is asked again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gitindex.errors import GitError
from gitindex.git.repo import Repo, head
from gitindex.git.status import Looking
from gitindex.model.frozen import frozen
from gitindex.ops.codebase import Codebase
from gitindex.store import manifests


@frozen
class Look:
    """A look that began while `snapshot_id` was active."""

    snapshot_id: str | None
    looking: Looking


@contextmanager
def looking(codebase: Codebase) -> Iterator[Look | None]:
    """None where there is no git to ask, or it cannot be started: whoever needs an answer finds out why."""
    if codebase.repo is None:
        yield None
        return
    before = manifests.active_id(codebase.layout)
    try:
        look = _begin(codebase, codebase.repo)
    except GitError:
        yield None
        return
    with look:
        yield Look(before, look)


def present(codebase: Codebase, repo: Repo, snapshot_id: str, look: Look | None) -> tuple[str | None, int]:
    """HEAD's commit and the number of dirty files, seen since `snapshot_id` was published. Raises GitError."""
    if look is None or look.snapshot_id != snapshot_id:
        with _begin(codebase, repo) as again:
            seen = again.seen
    else:
        seen = look.looking.seen
    return seen.commit or head(repo).commit, len(seen.dirty)


def _begin(codebase: Codebase, repo: Repo) -> Looking:
    return Looking(repo, untracked=codebase.settings.index.untracked)
