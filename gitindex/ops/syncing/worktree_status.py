"""Start `git status` early and read it later: it runs while the process imports and searches.

Invariant: a status older than the answering snapshot is never used. The active snapshot id is read before `git status`
starts; when another snapshot answers in the end, `git status` runs again. Without an index to answer from, git is not
started (CF-5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from gitindex.errors import GitError
from gitindex.git.repo import Repo, read_head
from gitindex.git.status import DirtyKind, DirtyPath, PendingStatus
from gitindex.model.file_stat import Stat
from gitindex.model.frozen import frozen
from gitindex.model.ids import blob_id
from gitindex.model.paths import PathKey
from gitindex.model.records import OverlayEntry
from gitindex.ops.codebase import Codebase
from gitindex.store import manifests, state_file

_MAX_READS = 32  # files to hash at most: an answer must not wait for a whole tree


@frozen
class EarlyStatus:
    """A `git status` that was started while `snapshot_id` was active."""

    snapshot_id: str | None
    pending: PendingStatus


@contextmanager
def start_status(codebase: Codebase) -> Iterator[EarlyStatus | None]:
    """None where there is no repository, no index that could answer, or git cannot be started; `read_status` then
    raises the reason."""
    active_id = manifests.read_active_id(codebase.layout)
    if codebase.repo is None or active_id is None or _is_rebuilding(codebase):
        yield None
        return
    try:
        pending = _start_git_status(codebase, codebase.repo)
    except GitError:
        yield None
        return
    with pending:
        yield EarlyStatus(active_id, pending)


def read_status(
    codebase: Codebase, repo: Repo, snapshot_id: str, early_status: EarlyStatus | None
) -> tuple[str | None, tuple[DirtyPath, ...]]:
    """HEAD's commit and the dirty files, read after `snapshot_id` was published. Raises GitError."""
    if early_status is None or early_status.snapshot_id != snapshot_id:
        with _start_git_status(codebase, repo) as pending:
            status = pending.full_status
    else:
        status = early_status.pending.full_status
    return status.commit or read_head(repo).commit, tuple(
        entry for entry in status.dirty if entry.kind is not DirtyKind.UNLISTABLE
    )


def count_indexed(
    codebase: Codebase, repo: Repo, dirty: tuple[DirtyPath, ...], overlay: Mapping[PathKey, OverlayEntry]
) -> int:
    """How many dirty paths the snapshot with this overlay holds as they are now. Undercounts on purpose."""
    # Late: a clean tree needs none of it (UI-3).
    from gitindex.files.safeopen import ReadError, Root, Vanished
    from gitindex.files.stableread import stable_read

    count, reads = 0, 0
    with Root(codebase.root) as root:
        for dirty_path in dirty:
            entry = overlay.get(dirty_path.key)
            if entry is None:
                continue
            try:
                stat = Stat.of(root.lstat(dirty_path.path))
                if stat == entry.stat:
                    count += 1
                elif entry.blob and stat.size == entry.stat.size and reads < _MAX_READS:
                    reads += 1
                    data = stable_read(root, dirty_path.path, stat.size).data
                    count += blob_id(data, repo.algorithm) == entry.blob
            except Vanished:
                count += not entry.blob
            except ReadError:
                continue
    return count


def _is_rebuilding(codebase: Codebase) -> bool:
    """By the store state alone: whether the writer is alive is checked by the gate, before git is needed."""
    store_state = state_file.read(codebase.layout)
    return store_state is not None and store_state.state == "indexing"


def _start_git_status(codebase: Codebase, repo: Repo) -> PendingStatus:
    return PendingStatus(repo, untracked=codebase.settings.index.untracked)
