"""`jobs`: what was asked of the indexers and what became of it (SE-3). Reads; makes nothing."""

from __future__ import annotations

from typing import Any

from gitindex.ops.codebase import Codebase
from gitindex.ops.exact.refresh import open_job_queue
from gitindex.semantic import control_database, job_queue
from gitindex.semantic.job_queue import RefreshJob
from gitindex.semantic.refresh_scope import to_json


def list_jobs(codebase: Codebase, limit: int = 50) -> dict[str, Any]:
    """Newest first; empty where nothing was ever refreshed."""
    if not codebase.layout.control.exists():
        return {"status": "ok", "jobs": [], "contexts": []}
    with open_job_queue(codebase) as connection:
        rows = control_database.read_contexts(connection, enabled_only=False)
        names = {row.id: row.name for row in rows}
        recent_jobs = job_queue.list_recent(connection, limit)
    contexts = [row._asdict() for row in rows]
    return {"status": "ok", "jobs": [_job_to_json(job, names) for job in recent_jobs], "contexts": contexts}


def _job_to_json(job: RefreshJob, names: dict[int, str]) -> dict[str, Any]:
    values = job._asdict()
    values["scope"] = to_json(job.scope) or "full"
    return {**values, "context": names.get(job.context_id, str(job.context_id))}
