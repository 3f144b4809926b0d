"""The durable queue of refresh jobs (SE-3, SE-4): queued → running → completed | superseded | failed.

Invariants, kept by transactions and two partial unique indexes:
- per context at most one job is queued and at most one runs;
- for the same HEAD a request only ever widens: what was asked for stays covered by a queued, running or completed job;
- only a change of HEAD supersedes;
- a transition names the status it leaves, so of two contenders exactly one wins.
"""

from __future__ import annotations

import sqlite3
from enum import StrEnum
from typing import NamedTuple

from gitindex.semantic import refresh_scope
from gitindex.semantic.control_database import transaction
from gitindex.semantic.refresh_scope import RefreshScope

MAX_ATTEMPTS = 3
STALE_AFTER_SECONDS = 60.0


class JobStatus(StrEnum):
    """As stored; the schema of the control file lists the same words."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    SUPERSEDED = "superseded"
    FAILED = "failed"


class EnqueueOutcome(StrEnum):
    CREATED = "created"  # a new job
    WIDENED = "widened"  # the queued job covers more now
    COVERED = "covered"  # a live job covered the request already


class RefreshJob(NamedTuple):
    id: int
    context_id: int
    status: JobStatus
    scope: RefreshScope | None
    reason: str
    head: str
    created_at: float
    started_at: float | None
    finished_at: float | None
    worker: str | None
    attempts: int
    superseded_reason: str | None
    error: str | None  # the text of a `JobError`


class EnqueueResult(NamedTuple):
    job_id: int
    outcome: EnqueueOutcome
    superseded: tuple[int, ...] = ()


def enqueue(
    connection: sqlite3.Connection,
    context_id: int,
    scope: RefreshScope | None,
    head: str,
    now: float,
    *,
    reason: str = "",
) -> EnqueueResult:
    """Request `scope` at `head`: a live job covers it, or the queued job is widened, or a new job is made."""
    with transaction(connection):
        superseded = _supersede_others(connection, head, now, context_id)
        live_jobs = {job.status: job for job in _select_live(connection, context_id)}
        running, queued = live_jobs.get(JobStatus.RUNNING), live_jobs.get(JobStatus.QUEUED)
        if running is not None and refresh_scope.covers(running.scope, scope):
            return EnqueueResult(running.id, EnqueueOutcome.COVERED, superseded)
        if queued is None:
            job_id = _insert(connection, context_id, scope=scope, head=head, now=now, reason=reason)
            return EnqueueResult(job_id, EnqueueOutcome.CREATED, superseded)
        if refresh_scope.covers(queued.scope, scope):
            return EnqueueResult(queued.id, EnqueueOutcome.COVERED, superseded)
        _set_scope(connection, queued.id, refresh_scope.merge(queued.scope, scope))
        return EnqueueResult(queued.id, EnqueueOutcome.WIDENED, superseded)


def supersede_other_heads(connection: sqlite3.Connection, head: str, now: float) -> tuple[int, ...]:
    """Supersede every live job of another HEAD. The worker of a running one notices at its next heartbeat."""
    with transaction(connection):
        return _supersede_others(connection, head, now, None)


def claim(connection: sqlite3.Connection, worker: str, now: float) -> RefreshJob | None:
    """Give the oldest queued job whose context has no running job to `worker`; None when there is no such job."""
    with transaction(connection):
        row = connection.execute(
            "UPDATE refresh_jobs SET status = 'running', worker = ?, started_at = ?, heartbeat_at = ?, "
            "attempts = attempts + 1 WHERE status = 'queued' AND id = (SELECT q.id FROM refresh_jobs q "
            "WHERE q.status = 'queued' AND NOT EXISTS (SELECT 1 FROM refresh_jobs r "
            "WHERE r.context_id = q.context_id AND r.status = 'running') "
            "ORDER BY q.created_at, q.id LIMIT 1) RETURNING *",
            (worker, now, now),
        ).fetchone()
    return None if row is None else _job_from_row(row)


def heartbeat(connection: sqlite3.Connection, job_id: int, worker: str, now: float) -> bool:
    """False when the job no longer runs for this worker: superseded, or given to another one."""
    cursor = connection.execute(
        "UPDATE refresh_jobs SET heartbeat_at = ? WHERE id = ? AND worker = ? AND status = 'running'",
        (now, job_id, worker),
    )
    return cursor.rowcount == 1


def recover(
    connection: sqlite3.Connection, now: float, *, stale_after: float = STALE_AFTER_SECONDS
) -> tuple[int, ...]:
    """Queue the jobs of dead workers again, or fail them after MAX_ATTEMPTS. Returns their ids."""
    with transaction(connection):
        rows = connection.execute(
            "SELECT * FROM refresh_jobs WHERE status = 'running' AND heartbeat_at < ? ORDER BY id",
            (now - stale_after,),
        ).fetchall()
        for row in rows:
            _requeue_or_fail(connection, _job_from_row(row), "the worker died", now)
    return tuple(row["id"] for row in rows)


def complete(connection: sqlite3.Connection, job: RefreshJob, now: float) -> bool:
    """Call it only after the publish. False when the job is no longer running for its worker."""
    with transaction(connection):
        finished = _finish(connection, job, JobStatus.COMPLETED, now)
        if finished:
            connection.execute(
                "UPDATE contexts SET refreshed_at = ?, refreshed_head = ? WHERE id = ?",
                (now, job.head, job.context_id),
            )
    return finished


def supersede(connection: sqlite3.Connection, job: RefreshJob, reason: str, now: float) -> bool:
    with transaction(connection):
        return _finish(connection, job, JobStatus.SUPERSEDED, now, superseded_reason=reason)


def fail(connection: sqlite3.Connection, job: RefreshJob, error: str, now: float, *, retry: bool) -> bool:
    """Fail a running job, or queue it again when `retry` says that may help and attempts are left."""
    with transaction(connection):
        if not retry:
            return _finish(connection, job, JobStatus.FAILED, now, error=error)
        current = get(connection, job.id)
        if current is None or current.status is not JobStatus.RUNNING or current.worker != job.worker:
            return False
        _requeue_or_fail(connection, current, error, now)
        return True


def get(connection: sqlite3.Connection, job_id: int) -> RefreshJob | None:
    row = connection.execute("SELECT * FROM refresh_jobs WHERE id = ?", (job_id,)).fetchone()
    return None if row is None else _job_from_row(row)


def list_recent(connection: sqlite3.Connection, limit: int = 50) -> list[RefreshJob]:
    """Newest first."""
    rows = connection.execute("SELECT * FROM refresh_jobs ORDER BY id DESC LIMIT ?", (limit,))
    return [_job_from_row(row) for row in rows]


# -- inside a transaction -------------------------------------------------------------------------------


def _select_live(connection: sqlite3.Connection, context_id: int) -> list[RefreshJob]:
    rows = connection.execute(
        "SELECT * FROM refresh_jobs WHERE context_id = ? AND status IN ('queued', 'running')", (context_id,)
    )
    return [_job_from_row(row) for row in rows]


def _supersede_others(
    connection: sqlite3.Connection, head: str, now: float, context_id: int | None
) -> tuple[int, ...]:
    rows = connection.execute(
        "UPDATE refresh_jobs SET status = 'superseded', finished_at = ?, superseded_reason = 'HEAD moved' "
        "WHERE status IN ('queued', 'running') AND head_at_enqueue != ? "
        "AND context_id = ifnull(?, context_id) RETURNING id",
        (now, head, context_id),
    )
    return tuple(sorted(row["id"] for row in rows.fetchall()))


def _insert(
    connection: sqlite3.Connection,
    context_id: int,
    *,
    scope: RefreshScope | None,
    head: str,
    now: float,
    reason: str,
) -> int:
    cursor = connection.execute(
        "INSERT INTO refresh_jobs (context_id, status, scope, trigger_reason, head_at_enqueue, created_at) "
        "VALUES (?, 'queued', ?, ?, ?, ?)",
        (context_id, refresh_scope.to_json(scope), reason, head, now),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _requeue_or_fail(connection: sqlite3.Connection, job: RefreshJob, error: str, now: float) -> None:
    """Queue a running job again, or fail it for good. A job already queued for the context takes over its scope."""
    live_jobs = _select_live(connection, job.context_id)
    queued = next((other for other in live_jobs if other.status is JobStatus.QUEUED), None)
    if job.attempts >= MAX_ATTEMPTS:
        _finish(connection, job, JobStatus.FAILED, now, error=f"{error} ({job.attempts} attempts)")
    elif queued is not None:
        _finish(connection, job, JobStatus.FAILED, now, error=f"{error}; job {queued.id} covers it")
        _set_scope(connection, queued.id, refresh_scope.merge(queued.scope, job.scope), job.attempts)
    else:
        connection.execute(
            "UPDATE refresh_jobs SET status = 'queued', worker = NULL, error = ? WHERE id = ?",
            (error, job.id),
        )


def _set_scope(
    connection: sqlite3.Connection, job_id: int, scope: RefreshScope | None, attempts: int = 0
) -> None:
    connection.execute(
        "UPDATE refresh_jobs SET scope = ?, attempts = max(attempts, ?) WHERE id = ?",
        (refresh_scope.to_json(scope), attempts, job_id),
    )


def _finish(
    connection: sqlite3.Connection,
    job: RefreshJob,
    status: JobStatus,
    now: float,
    *,
    error: str | None = None,
    superseded_reason: str | None = None,
) -> bool:
    cursor = connection.execute(
        "UPDATE refresh_jobs SET status = ?, finished_at = ?, error = ?, superseded_reason = ? "
        "WHERE id = ? AND status = 'running' AND worker IS ?",
        (status.value, now, error, superseded_reason, job.id, job.worker),
    )
    return cursor.rowcount == 1


def _job_from_row(row: sqlite3.Row) -> RefreshJob:
    return RefreshJob(
        id=row["id"],
        context_id=row["context_id"],
        status=JobStatus(row["status"]),
        scope=refresh_scope.from_json(row["scope"]),
        reason=row["trigger_reason"],
        head=row["head_at_enqueue"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        worker=row["worker"],
        attempts=row["attempts"],
        superseded_reason=row["superseded_reason"],
        error=row["error"],
    )
