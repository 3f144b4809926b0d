"""`jobs`: what was asked of the indexers and what became of it (SE-3). Reads; makes nothing."""

from __future__ import annotations

from typing import Any

from gitindex.ops.codebase import Codebase
from gitindex.ops.exact.refresh import opened_control
from gitindex.semantic import control_database, job_queue
from gitindex.semantic.job_queue import Job
from gitindex.semantic.refresh_scope import to_json


def listing(codebase: Codebase, limit: int = 50) -> dict[str, Any]:
    """Newest first; empty where nothing was ever refreshed."""
    if not codebase.layout.control.exists():
        return {"status": "ok", "jobs": [], "contexts": []}
    with opened_control(codebase) as connection:
        rows = control_database.contexts(connection, enabled_only=False)
        names = {row.id: row.name for row in rows}
        found = job_queue.recent(connection, limit)
    contexts = [row._asdict() for row in rows]
    return {"status": "ok", "jobs": [_job(job, names) for job in found], "contexts": contexts}


def _job(job: Job, names: dict[int, str]) -> dict[str, Any]:
    values = job._asdict()
    values["scope"] = to_json(job.scope) or "full"
    return {**values, "context": names.get(job.context_id, str(job.context_id))}
