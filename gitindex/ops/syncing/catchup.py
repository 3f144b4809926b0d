"""The one way to bring an index up to date: serve the hooks' request, sync, keep the store in order.

Commands, hooks, servers and every `--sync` come here, so that none of them forgets a part. Light to import: git looks
at the working tree while the indexer loads (UI-3).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING

from gitindex import gate
from gitindex.errors import LeaseHeld
from gitindex.gitdir import hookrequest
from gitindex.gitdir.hookrequest import HookRequest
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.worktree_status import start_status

if TYPE_CHECKING:
    from gitindex.indexing.write import Progress
    from gitindex.ops.syncing.sync_report import SyncReport

LEASE_WAIT = 30.0  # seconds
READ_WAIT = (
    2.0  # for a question: another sync of a few files is over by then, anything longer is not waited for
)
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

    Without `serve` the hooks' request stays as it is: it is the caller's. Raises what `ops.sync.sync` raises; the
    request then stays for the next one.
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
    """Catch up before a question; why nothing was synced, "" when it was.

    A question does not fail because somebody else writes: the last snapshot answers it. Raises what a sync raises
    otherwise.
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
    """The hooks' request, taken before HEAD is read and removed once it was served (HK-3)."""
    if codebase.repo is None:
        return nullcontext()
    return hookrequest.serve_request(codebase.repo.git_dir, commit_only=commit_only)
