"""Bring an index up to date: serve the hook request, sync, then compact and collect where that is due.

Commands, hooks, the MCP server and every `--sync` call `catch_up`, so that none of them forgets a part. Light to
import: `git status` runs while the indexer loads (UI-3).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING

from gitindex import gate
from gitindex.errors import LeaseHeld
from gitindex.gitdir import hookrequest
from gitindex.gitdir.hookrequest import HookRequest
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.lease_waits import LEASE_WAIT, READ_WAIT
from gitindex.ops.syncing.worktree_status import start_status

if TYPE_CHECKING:
    from gitindex.indexing.write import Progress
    from gitindex.ops.syncing.sync_report import SyncReport

REBUILDING = "a rebuild of this index is running; nothing was synced"
WRITING = "another process is updating this index; nothing was synced and the last snapshot answers"


def catch_up(
    codebase: Codebase,
    progress: Progress = lambda _phase, _done, _total: None,
    *,
    full: bool = False,
    commit_only: bool = False,
    allow_degraded: bool = False,
    wait: float = LEASE_WAIT,
    serve: bool = True,
) -> SyncReport:
    """Index what changed, publish it, compact and collect where that is due.

    Without `serve` the hook request is left to the caller. Raises what `sync` raises; the request then stays for the
    next sync.
    """
    with ExitStack() as stack:
        if serve:
            stack.enter_context(serve_hook_request(codebase, commit_only=commit_only))
        early_status = None if full or commit_only else stack.enter_context(start_status(codebase))
        from gitindex.ops.syncing.sync import sync
        from gitindex.ops.syncing.sync_plan import SyncOptions

        options = SyncOptions(
            full=full, commit_only=commit_only, allow_degraded=allow_degraded, lease_wait=wait
        )
        report = sync(codebase, options, progress, early_status)
    if not report.noop:
        from gitindex.ops.syncing.maintenance import maintain_after_sync

        maintain_after_sync(codebase)
    return report


def catch_up_before_read(codebase: Codebase) -> str:
    """Catch up before a search; returns why nothing was synced, "" when it was.

    While another process writes, the last snapshot answers the search. Raises what `sync` raises, except LeaseHeld.
    """
    if gate.active_indexing(codebase.layout) is not None:  # EN-6: never beside a rebuild
        return REBUILDING
    try:
        catch_up(codebase, wait=READ_WAIT)
    except LeaseHeld:
        return WRITING
    return ""


def serve_hook_request(
    codebase: Codebase, *, commit_only: bool = False
) -> AbstractContextManager[HookRequest | None]:
    """Take the hook request before HEAD is read; it is removed when the body succeeds (HK-3)."""
    if codebase.repo is None:
        return nullcontext()
    return hookrequest.serve_request(codebase.repo.git_dir, commit_only=commit_only)
