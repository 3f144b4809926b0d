"""When git fails, scan the files of the working tree instead; the snapshot says so (C-1, CS-2, CS-6).

`git.failure` decides which errors allow that. A sync of a commit needs git and fails. Where the settings leave
untracked files out, a file is indexed only when it is known to be tracked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeVar

from gitindex.errors import GitError, IntegrityError
from gitindex.git.failure import Damage, allows_file_scan
from gitindex.git.localconfig import mentions
from gitindex.git.repo import Repo
from gitindex.git.run import missing_objects_error
from gitindex.git.tracked import list_tracked
from gitindex.model.manifest import GitFailure
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.sync_plan import SyncOptions, is_commit_only
from gitindex.source.directory import WithoutGit
from gitindex.view.snapshot import open_active

Result = TypeVar("Result")


def scan_if_git_fails(
    codebase: Codebase, options: SyncOptions, act: Callable[[SyncOptions], Result]
) -> Result:
    """Run `act`; when git fails, run it again with a file scan. `act` must be repeatable."""
    try:
        return act(options)
    except GitError as error:
        scan_options = scan_instead(codebase, options, error)
    return act(scan_options)


def scan_instead(codebase: Codebase, options: SyncOptions, error: GitError) -> SyncOptions:
    """The options of a second attempt that scans the files. Raises `error` where only git can tell."""
    if codebase.repo is None or is_commit_only(codebase, options) or not allows_file_scan(error):
        raise error
    return replace(options, without_git=_prepare_scan(codebase, codebase.repo, error))


def describe_failure(error: GitError) -> GitFailure:
    return GitFailure(error.code, str(error.detail.get("kind", "")), error.message, error.hint or "git fsck")


def _prepare_scan(codebase: Codebase, repo: Repo, error: GitError) -> WithoutGit:
    """Raises MissingObjects for a partial clone, and `error` where the settings need the tracked paths and nothing
    has them."""
    if error.detail.get("kind") == Damage.OBJECT and mentions(repo, b"promisor", b"partialclone"):
        raise missing_objects_error(error.message) from error
    untracked = codebase.settings.index.untracked
    tracked = list_tracked(repo)
    if tracked is None and not untracked:
        tracked = _read_indexed_paths(codebase)
        if tracked is None:
            raise error
    return WithoutGit(describe_failure(error), repo.algorithm, tracked, untracked)


def _read_indexed_paths(codebase: Codebase) -> frozenset[bytes] | None:
    """The paths of the last snapshot: where untracked files are left out, all of them were tracked."""
    try:
        with open_active(codebase.layout) or nullcontext() as view:
            return None if view is None else frozenset(record.path.encode() for record in view.records())
    except IntegrityError:
        return None
