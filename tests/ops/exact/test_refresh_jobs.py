"""`ops.exact.refresh_jobs`: jobs as `gitindex jobs --json` shows them (SE-3)."""

from __future__ import annotations

from pathlib import Path

from gitindex.ops.exact.refresh_jobs import _job_to_json, list_jobs
from gitindex.semantic.job_queue import RefreshJob
from gitindex.semantic.refresh_scope import RefreshScope, to_json
from tests.support.harness import codebase

JOB = RefreshJob(
    id=7,
    context_id=2,
    status="queued",
    scope=None,
    reason="changed",
    head="a" * 40,
    created_at=1.0,
    started_at=None,
    finished_at=None,
    worker=None,
    attempts=0,
    superseded_reason=None,
    error=None,
)


def test_scope_and_context_by_name():
    """No scope is everything, and is said so; a context that is gone keeps its number."""
    shown = _job_to_json(JOB, {2: "python"})
    assert (shown["scope"], shown["context"], shown["id"]) == ("full", "python", 7)
    narrow = RefreshScope(files=("a.py",))
    shown = _job_to_json(JOB._replace(scope=narrow), {})
    assert (shown["scope"], shown["context"]) == (to_json(narrow), "2")
    assert "a.py" in shown["scope"]


def test_nothing_was_ever_refreshed(tmp_path: Path):
    """SE-3: asking makes no database."""
    folder = codebase(tmp_path)
    assert list_jobs(folder) == {"status": "ok", "jobs": [], "contexts": []}
    assert not folder.layout.control.exists()
