"""Runs creates and reindexes in background threads, at most one per codebase."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gitindex.errors import GitindexError
from gitindex.ops.maintain.rebuild_progress import IndexingProgress, initial_progress, measure_progress, now


@dataclass(slots=True)
class RebuildJob:
    """A create or reindex, running or ended."""

    root: str
    action: str
    started_at: str = field(default_factory=now)
    progress: IndexingProgress = field(default_factory=initial_progress)
    answer: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def track(self, phase: str, done: int, total: int) -> None:
        self.progress = measure_progress(phase, done, total)

    def to_json(self) -> dict[str, Any]:
        result = "running" if not self.done.is_set() else ("failed" if self.error else "done")
        error_fields = {"error": self.error} if self.error else {}
        return {"action": self.action, "result": result, "started_at": self.started_at, **error_fields}


class RebuildJobs:
    """The last job of each codebase that one server rebuilt."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, RebuildJob] = {}

    def find_running(self, root: str) -> RebuildJob | None:
        job = self.find_last(root)
        return job if job is not None and not job.done.is_set() else None

    def has_running(self) -> bool:
        with self._lock:
            return any(not job.done.is_set() for job in self._jobs.values())

    def find_last(self, root: str) -> RebuildJob | None:
        with self._lock:
            return self._jobs.get(root)

    def start(
        self, root: str, action: str, work: Callable[[RebuildJob], dict[str, Any]]
    ) -> tuple[RebuildJob, bool]:
        """Start a job. Returns it and True, or the job that already runs for this root and False."""
        with self._lock:
            previous = self._jobs.get(root)
            if previous is not None and not previous.done.is_set():
                return previous, False
            job = RebuildJob(root, action)
            self._jobs[root] = job
        threading.Thread(target=_run_job, args=(job, work), name=f"{action} {root}", daemon=True).start()
        return job, True


def _run_job(job: RebuildJob, work: Callable[[RebuildJob], dict[str, Any]]) -> None:
    try:
        job.answer = work(job)
    except GitindexError as error:
        job.error = {"code": error.code, "message": error.message, "hint": error.hint}
    except Exception as error:  # noqa: BLE001 - the end of a thread: the agent must see a defect
        job.error = {"code": "defect", "message": f"{type(error).__name__}: {error}", "hint": None}
    finally:
        job.done.set()
