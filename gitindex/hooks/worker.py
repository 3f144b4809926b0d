"""The detached worker: waits until git is quiet, takes the request, syncs the index with HEAD.

Order (HK-3): lock, debounce, wait while git is busy, rename the request, read HEAD and index, unlock, check for a new
request. A hook writes its request before it reads the lock. If it finds a living holder there, that holder has not yet
released the lock; it checks for requests after releasing it and finds this one. So no second worker is needed and no
request is lost. Does not decide what to index: `_index_once` calls `ops.syncing.catchup`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gitindex.errors import GitindexError, HookError, LeaseHeld, TransientGitError
from gitindex.git import repo as repository
from gitindex.git.repo import Repo
from gitindex.gitdir import folder, hookrequest
from gitindex.gitdir.hookrequest import HookRequest
from gitindex.hooks import background, journal, owner, worker_lock
from gitindex.hooks.journal import WorkerRun

_LOG = logging.getLogger("gitindex.hooks.worker")
INDEX_LOCK = "index.lock"
# What workers of releases without folders per user left behind, besides requests.
LEGACY_FILES = (worker_lock.NAME, journal.NAME, *background.LOG_NAMES)

Indexer = Callable[[bool], str]
"""Index the worktree (True: committed content only) and describe the result in a few words."""

GitOperationFinder = Callable[[], str | None]
"""The git operation that is unfinished, or None."""


@dataclass(frozen=True)
class WorkerTimings:
    """How long a worker waits, in seconds."""

    quiet: float = 0.3  # since the last hook, so that a burst of commits is one run
    burst: float = 3.0  # at most, for a burst that does not end
    poll: float = 0.1
    poll_slow: float = 2.0
    git_busy: float = 600.0  # a rebase stopped at a conflict: its end fires a hook of its own
    index_lock: float = 10.0  # after this it counts as a leftover; reading does not need it
    writer_busy: float = 600.0


@dataclass(frozen=True)
class Worker:
    git_dir: Path
    index: Indexer
    find_git_operation: GitOperationFinder
    timings: WorkerTimings = WorkerTimings()
    sleep: Callable[[float], None] = time.sleep


def last_run(git_dir: Path) -> WorkerRun | None:
    """What the worker of this worktree did last."""
    return journal.read(git_dir)


def failed_run_message(git_dir: Path) -> str | None:
    """One line for the next command to show when the background run failed or died and no sync succeeded since."""
    run = journal.read(git_dir)
    if (
        run is None
        or run.result not in (journal.FAILED, journal.DIED)
        or not hookrequest.has_request(git_dir)
    ):
        return None
    reason = run.error or "the process was killed"
    return f"the background run of {run.started_at} {run.result}: {reason}"


def serve_requests(worker: Worker) -> None:
    """Serve new requests until none is left; a request that failed stays for the worker of the next hook."""
    while _adopt_request(worker.git_dir):
        with worker_lock.try_worker_lock(worker.git_dir) as acquired:
            if not acquired:
                return
            _serve(worker)


def _adopt_request(git_dir: Path) -> bool:
    if not hookrequest.has_new_request(git_dir) or owner.find_obstacle(git_dir):
        return False
    hookrequest.adopt(git_dir)
    return True


def _serve(worker: Worker) -> None:
    """One run under the lock. No new request from before this run remains: each was served or set aside."""
    run, request = journal.begin(worker.git_dir), None
    try:
        _wait_until_quiet(worker)
        request = hookrequest.take(worker.git_dir)
        detail = _index_with_lease(worker, request) if request else "no request"
    except (LeaseHeld, TransientGitError) as error:
        _LOG.info("deferred: %s", error.message)
        _defer_request(worker, request)
        journal.end(worker.git_dir, run, journal.DEFERRED, detail=error.message, hint=error.hint)
    except GitindexError as error:
        _LOG.error("failed: %s", error.message)
        _defer_request(worker, request)
        journal.end(worker.git_dir, run, journal.FAILED, error=error.message, hint=error.hint)
    except BaseException as error:
        _LOG.exception("crashed")
        journal.end(worker.git_dir, run, journal.FAILED, error=f"{type(error).__name__}: {error}")
        raise
    else:
        _LOG.info("done: %s", detail)
        if request:
            hookrequest.remove_served(worker.git_dir, request)
        journal.end(worker.git_dir, run, journal.DONE, detail=detail)


def _index_with_lease(worker: Worker, request: HookRequest) -> str:
    """Index; wait for another writer of the same store for at most `writer_busy` seconds."""
    waited, pause = 0.0, worker.timings.poll
    while True:
        try:
            return worker.index(request.commit_only)
        except LeaseHeld:
            if waited >= worker.timings.writer_busy:
                raise
        worker.sleep(pause)
        waited += pause
        pause = min(pause * 2, worker.timings.poll_slow)


def _wait_until_quiet(worker: Worker) -> None:
    """Wait for a quiet moment. Raises TransientGitError when git stays busy for longer than a worker should live."""
    waited = 0.0
    while True:
        _debounce(worker)
        reason = worker.find_git_operation()
        if reason is None or (reason == INDEX_LOCK and waited >= worker.timings.index_lock):
            return
        if waited >= worker.timings.git_busy:
            raise TransientGitError(f"git is busy: {reason}", hint="gitindex sync")
        waited += _wait_for_git(worker, reason, waited)


def _defer_request(worker: Worker, request: HookRequest | None) -> None:
    """Set the request aside, unless a hook fired at this moment: that may be the last hook of git's operation."""
    if request is not None:
        return
    request = hookrequest.take(worker.git_dir)
    if request and 0 <= time.time() - request.requested_at < worker.timings.quiet:
        hookrequest.write_request(worker.git_dir, request)


def _debounce(worker: Worker) -> None:
    waited = 0.0
    while waited < worker.timings.burst:
        age = hookrequest.newest_age(worker.git_dir)
        if age is None or age >= worker.timings.quiet:
            return
        pause = worker.timings.quiet - age
        worker.sleep(pause)
        waited += pause


def _wait_for_git(worker: Worker, reason: str, already_waited: float) -> float:
    """Poll with growing pauses until git has left the state `reason` or the cap is reached."""
    cap = worker.timings.index_lock if reason == INDEX_LOCK else worker.timings.git_busy
    waited, pause = 0.0, worker.timings.poll
    while worker.find_git_operation() == reason and already_waited + waited < cap:
        worker.sleep(pause)
        waited += pause
        pause = min(pause * 1.5, worker.timings.poll_slow)
    return waited


def main(path: Path, git_dir: Path) -> None:
    """The detached process: leave the session, then serve the requests of one worktree."""
    background.detach_process()
    real_git_dir = git_dir.resolve()
    folder.drop_leftovers(real_git_dir, LEGACY_FILES)
    with background.log_to_folder(real_git_dir):
        repo = cache(lambda: _require_repository(path, real_git_dir))
        serve_requests(
            Worker(
                git_dir=real_git_dir,
                index=lambda commit_only: _index_once(repo().root, commit_only),
                find_git_operation=lambda: repository.find_unfinished(repo()),
            )
        )


def _require_repository(path: Path, git_dir: Path) -> Repo:
    """The repository a hook fired for. Raises HookError for a work tree that git finds only by options."""
    repo = repository.discover(path)
    if repo is None or repo.git_dir != git_dir:
        raise HookError(
            f"{path} is not the work tree of {git_dir} without --work-tree or GIT_WORK_TREE",
            hint="set core.worktree, or put a .git file into the work tree",
        )
    return repo


def _index_once(root: Path, commit_only: bool) -> str:
    """One incremental sync of the real index; imports late, because most workers find the lock taken."""
    from gitindex import config
    from gitindex.ops.codebase import open_codebase
    from gitindex.ops.syncing.catchup import catch_up
    from gitindex.store import atomic

    config.limit_numpy_threads()
    codebase = open_codebase(root, config.load_environment())
    with atomic.translate_storage_errors(codebase.layout.base):
        report = catch_up(codebase, commit_only=commit_only, serve=False)
    fallback_remark = f" (scanned, because git failed: {report.fallback.message})" if report.fallback else ""
    return f"{report.snapshot_id}{' (nothing to do)' if report.noop else ''}{fallback_remark}"
