"""The durable queue of refresh jobs (SE-3, SE-4): queued → running → completed | superseded | failed.

Invariants, kept by transactions and two partial unique indexes:
- per context at most one job is queued and at most one runs;
- for the same HEAD a request only ever widens: what was asked for stays covered by a queued, running or
completed job; - only a change of HEAD supersedes;
- a transition names the state it leaves, so of two contenders exactly one wins.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from gitindex.semantic import refresh_scope as lattice
from gitindex.semantic.control_database import transaction
from gitindex.semantic.refresh_scope import Scope

MAX_ATTEMPTS = 3
STALE_AFTER_SECONDS = 60.0


class Job(NamedTuple):
    id: int
    context_id: int
    status: str
    scope: Scope | None
    reason: str
    head: str
    created_at: float
    started_at: float | None
    finished_at: float | None
    worker: str | None
    attempts: int
    superseded_reason: str | None
    error: str | None


class Enqueued(NamedTuple):
    job_id: int
    outcome: str  # created | widened | covered
    superseded: tuple[int, ...] = ()


def enqueue(
    connection: sqlite3.Connection,
    context_id: int,
    wanted: Scope | None,
    head: str,
    now: float,
    *,
    reason: str = "",
) -> Enqueued:
    """Ask for `wanted` at `head`: covered by a job there is, by widening the queued one, or by a new one."""
    with transaction(connection):
        gone = _supersede_others(connection, head, now, context_id)
        live = {job.status: job for job in _live(connection, context_id)}
        running, queued = live.get("running"), live.get("queued")
        if running is not None and lattice.covers(running.scope, wanted):
            return Enqueued(running.id, "covered", gone)
        if queued is None:
            return Enqueued(_insert(connection, context_id, wanted, head, now, reason), "created", gone)
        if lattice.covers(queued.scope, wanted):
            return Enqueued(queued.id, "covered", gone)
        _set_scope(connection, queued.id, lattice.merge(queued.scope, wanted))
        return Enqueued(queued.id, "widened", gone)


def head_moved(connection: sqlite3.Connection, head: str, now: float) -> tuple[int, ...]:
    """Supersede every live job of another HEAD; a running one learns of it when it wants to import."""
    with transaction(connection):
        return _supersede_others(connection, head, now, None)


def claim(connection: sqlite3.Connection, worker: str, now: float) -> Job | None:
    """The oldest queued job whose context is idle becomes ours, or None."""
    with transaction(connection):
        row = connection.execute(
            "UPDATE refresh_jobs SET status = 'running', worker = ?, started_at = ?, heartbeat_at = ?, "
            "attempts = attempts + 1 WHERE status = 'queued' AND id = (SELECT q.id FROM refresh_jobs q "
            "WHERE q.status = 'queued' AND NOT EXISTS (SELECT 1 FROM refresh_jobs r "
            "WHERE r.context_id = q.context_id AND r.status = 'running') "
            "ORDER BY q.created_at, q.id LIMIT 1) RETURNING *",
            (worker, now, now),
        ).fetchone()
    return None if row is None else _job(row)


def heartbeat(connection: sqlite3.Connection, job_id: int, worker: str, now: float) -> bool:
    """False: the job is no longer ours to run (superseded, or given to somebody else)."""
    done = connection.execute(
        "UPDATE refresh_jobs SET heartbeat_at = ? WHERE id = ? AND worker = ? AND status = 'running'",
        (now, job_id, worker),
    )
    return done.rowcount == 1


def recover(
    connection: sqlite3.Connection, now: float, *, stale_after: float = STALE_AFTER_SECONDS
) -> tuple[int, ...]:
    """Give jobs of dead workers another chance, up to the cap. Returns the ids touched."""
    with transaction(connection):
        rows = connection.execute(
            "SELECT * FROM refresh_jobs WHERE status = 'running' AND heartbeat_at < ? ORDER BY id",
            (now - stale_after,),
        ).fetchall()
        for row in rows:
            _give_back(connection, _job(row), "the worker died", now)
    return tuple(row["id"] for row in rows)


def complete(connection: sqlite3.Connection, job: Job, now: float) -> bool:
    """Only after the import is published. False when the job was taken from us meanwhile."""
    with transaction(connection):
        done = _finish(connection, job, "completed", now)
        if done:
            connection.execute(
                "UPDATE contexts SET refreshed_at = ?, refreshed_head = ? WHERE id = ?",
                (now, job.head, job.context_id),
            )
    return done


def supersede(connection: sqlite3.Connection, job: Job, reason: str, now: float) -> bool:
    with transaction(connection):
        return _finish(connection, job, "superseded", now, superseded_reason=reason)


def fail(connection: sqlite3.Connection, job: Job, error: str, now: float, *, retry: bool) -> bool:
    """`retry`: another attempt may help; it happens while attempts are left."""
    with transaction(connection):
        if not retry:
            return _finish(connection, job, "failed", now, error=error)
        current = get(connection, job.id)
        if current is None or current.status != "running" or current.worker != job.worker:
            return False
        _give_back(connection, current, error, now)
        return True


def get(connection: sqlite3.Connection, job_id: int) -> Job | None:
    row = connection.execute("SELECT * FROM refresh_jobs WHERE id = ?", (job_id,)).fetchone()
    return None if row is None else _job(row)


def recent(connection: sqlite3.Connection, limit: int = 50) -> list[Job]:
    """Newest first."""
    rows = connection.execute("SELECT * FROM refresh_jobs ORDER BY id DESC LIMIT ?", (limit,))
    return [_job(row) for row in rows]


# -- inside a transaction -------------------------------------------------------------------------------


def _live(connection: sqlite3.Connection, context_id: int) -> list[Job]:
    rows = connection.execute(
        "SELECT * FROM refresh_jobs WHERE context_id = ? AND status IN ('queued', 'running')", (context_id,)
    )
    return [_job(row) for row in rows]


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
    connection: sqlite3.Connection, context_id: int, wanted: Scope | None, head: str, now: float, reason: str
) -> int:
    done = connection.execute(
        "INSERT INTO refresh_jobs (context_id, status, scope, trigger_reason, head_at_enqueue, created_at) "
        "VALUES (?, 'queued', ?, ?, ?, ?)",
        (context_id, lattice.to_json(wanted), reason, head, now),
    )
    assert done.lastrowid is not None
    return done.lastrowid


def _give_back(connection: sqlite3.Connection, job: Job, error: str, now: float) -> None:
    """Queue a running job again, or fail it for good; a queued successor takes over its scope."""
    queued = next((other for other in _live(connection, job.context_id) if other.status == "queued"), None)
    if job.attempts >= MAX_ATTEMPTS:
        _finish(connection, job, "failed", now, error=f"{error} ({job.attempts} attempts)")
    elif queued is not None:
        _finish(connection, job, "failed", now, error=f"{error}; job {queued.id} covers it")
        _set_scope(connection, queued.id, lattice.merge(queued.scope, job.scope), job.attempts)
    else:
        connection.execute(
            "UPDATE refresh_jobs SET status = 'queued', worker = NULL, error = ? WHERE id = ?",
            (error, job.id),
        )


def _set_scope(connection: sqlite3.Connection, job_id: int, wanted: Scope | None, attempts: int = 0) -> None:
    connection.execute(
        "UPDATE refresh_jobs SET scope = ?, attempts = max(attempts, ?) WHERE id = ?",
        (lattice.to_json(wanted), attempts, job_id),
    )


def _finish(
    connection: sqlite3.Connection,
    job: Job,
    status: str,
    now: float,
    *,
    error: str | None = None,
    superseded_reason: str | None = None,
) -> bool:
    done = connection.execute(
        "UPDATE refresh_jobs SET status = ?, finished_at = ?, error = ?, superseded_reason = ? "
        "WHERE id = ? AND status = 'running' AND worker IS ?",
        (status, now, error, superseded_reason, job.id, job.worker),
    )
    return done.rowcount == 1


def _job(row: sqlite3.Row) -> Job:
    return Job(
        row["id"],
        row["context_id"],
        row["status"],
        lattice.from_json(row["scope"]),
        row["trigger_reason"],
        row["head_at_enqueue"],
        row["created_at"],
        row["started_at"],
        row["finished_at"],
        row["worker"],
        row["attempts"],
        row["superseded_reason"],
        row["error"],
    )
