"""What git says of the present, asked for early: git looks at the working tree while we load and search.

Invariant: an answer never rests on a look that began before its snapshot was published. The pointer is read
first; when another snapshot was pinned in the end, git is asked again. Git looks at no working tree that has no
index to answer from (CF-5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from gitindex.errors import GitError
from gitindex.git.repo import Repo, head
from gitindex.git.status import CLOSED, Dirty, Looking
from gitindex.model.frozen import frozen
from gitindex.model.ids import blob_id
from gitindex.model.records import OverlayEntry
from gitindex.ops.codebase import Codebase
from gitindex.store import manifests, store_state

_READS = 32  # files: an answer must not wait for a whole tree to be hashed


@frozen
class Look:
    """A look that began while `snapshot_id` was active."""

    snapshot_id: str | None
    looking: Looking


@contextmanager
def looking(codebase: Codebase) -> Iterator[Look | None]:
    """None where there is no git to ask, no index that could answer, or git cannot be started: whoever needs an
    answer finds out why."""
    before = manifests.read_active_id(codebase.layout)
    if codebase.repo is None or before is None or _is_rebuilt(codebase):
        yield None
        return
    try:
        look = _begin(codebase, codebase.repo)
    except GitError:
        yield None
        return
    with look:
        yield Look(before, look)


def present(
    codebase: Codebase, repo: Repo, snapshot_id: str, look: Look | None
) -> tuple[str | None, tuple[Dirty, ...]]:
    """HEAD's commit and the dirty files, seen since `snapshot_id` was published. Raises GitError."""
    if look is None or look.snapshot_id != snapshot_id:
        with _begin(codebase, repo) as again:
            seen = again.seen
    else:
        seen = look.looking.seen
    return seen.commit or head(repo).commit, tuple(entry for entry in seen.dirty if entry.kind != CLOSED)


def as_indexed(
    codebase: Codebase, repo: Repo, dirty: tuple[Dirty, ...], overlay: Mapping[str, OverlayEntry]
) -> int:
    """How many of them are what the snapshot with this overlay holds. Rather too few than too many."""
    from gitindex.files.safeopen import (
        ReadError,
        Root,
        Vanished,
    )  # late: a clean tree needs none of it (UI-3)
    from gitindex.files.stableread import stable_read

    count, reads = 0, 0
    with Root(codebase.root) as root:
        for path, _ in dirty:
            known = overlay.get(path.decode("utf-8", "replace"))
            if known is None:
                continue
            try:
                found = root.lstat(path)
                seen = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
                if seen == (known.size, known.mtime_ns, known.ctime_ns, known.inode):
                    count += 1
                elif known.blob and found.st_size == known.size and reads < _READS:
                    reads += 1
                    count += blob_id(stable_read(root, path, known.size).data, repo.algorithm) == known.blob
            except Vanished:
                count += not known.blob
            except ReadError:
                continue
    return count


def _is_rebuilt(codebase: Codebase) -> bool:
    """By the state alone, without asking whether its writer lives: the gate does, and git is asked after it."""
    known = store_state.read(codebase.layout)
    return known is not None and known.state == "indexing"


def _begin(codebase: Codebase, repo: Repo) -> Looking:
    return Looking(repo, untracked=codebase.settings.index.untracked)
