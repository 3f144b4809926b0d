"""Creates and reindexes that run in the background: one per codebase, none blocks another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gitindex.errors import GitindexError
from gitindex.store.state_file import IndexingProgress, now


@dataclass(slots=True)
class Job:
    """A rebuild under way, or how it ended."""

    root: str
    action: str
    started_at: str = field(default_factory=now)
    progress: IndexingProgress = field(default_factory=lambda: IndexingProgress(None, "starting", now()))
    answer: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def track(self, phase: str, done: int, total: int) -> None:
        share = round(100 * done / total, 1) if total else None
        self.progress = IndexingProgress(share, phase, now())

    def to_json(self) -> dict[str, Any]:
        result = "running" if not self.done.is_set() else ("failed" if self.error else "done")
        told = {"error": self.error} if self.error else {}
        return {"action": self.action, "result": result, "startedAt": self.started_at, **told}


class Jobs:
    """The jobs of one server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}

    def running(self, root: str) -> Job | None:
        job = self.last(root)
        return job if job is not None and not job.done.is_set() else None

    def any_running(self) -> bool:
        with self._lock:
            return any(not job.done.is_set() for job in self._jobs.values())

    def last(self, root: str) -> Job | None:
        with self._lock:
            return self._jobs.get(root)

    def start(self, root: str, action: str, work: Callable[[Job], dict[str, Any]]) -> tuple[Job, bool]:
        """The new job, or the one already running for this root and False."""
        with self._lock:
            known = self._jobs.get(root)
            if known is not None and not known.done.is_set():
                return known, False
            job = Job(root, action)
            self._jobs[root] = job
        threading.Thread(target=_run, args=(job, work), name=f"{action} {root}", daemon=True).start()
        return job, True


def _run(job: Job, work: Callable[[Job], dict[str, Any]]) -> None:
    try:
        job.answer = work(job)
    except GitindexError as error:
        job.error = {"code": error.code, "message": error.message, "hint": error.hint}
    except Exception as error:  # noqa: BLE001 - a thread's boundary: a defect must reach the agent, not vanish
        job.error = {"code": "defect", "message": f"{type(error).__name__}: {error}", "hint": None}
    finally:
        job.done.set()
