"""Records the last run of the worker: the next command reports a run that failed.

Written only by the worker that holds the lock; `running` with a dead pid reads as `died`.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitindex.gitdir import folder
from gitindex.store.lease import is_alive

NAME = folder.WORKER_JOURNAL
_MAX_BYTES = 64 * 1024

RUNNING, DONE, FAILED, DEFERRED, DIED = "running", "done", "failed", "deferred", "died"


@dataclass(frozen=True)
class WorkerRun:
    """`result` is running, done, failed, deferred (git or another writer stayed busy) or died."""

    pid: int
    started_at: str
    ended_at: str | None
    result: str
    detail: str | None = None
    error: str | None = None
    hint: str | None = None


def begin(git_dir: Path) -> WorkerRun:
    run = WorkerRun(pid=os.getpid(), started_at=_now(), ended_at=None, result=RUNNING)
    _write(git_dir, run)
    return run


def end(
    git_dir: Path,
    run: WorkerRun,
    result: str,
    *,
    detail: str | None = None,
    error: str | None = None,
    hint: str | None = None,
) -> None:
    """Close the record of `run`."""
    _write(git_dir, replace(run, ended_at=_now(), result=result, detail=detail, error=error, hint=hint))


def read(git_dir: Path) -> WorkerRun | None:
    """The last run, or None when there never was one (or the record is not a file of this user)."""
    with folder.open_folder(git_dir) as user_folder:
        text = user_folder.read(NAME, _MAX_BYTES) if user_folder is not None else None
    try:
        raw: Any = json.loads(text or b"")
        run = WorkerRun(**raw)
    except (ValueError, TypeError, RecursionError):
        return None
    return replace(run, result=DIED) if run.result == RUNNING and not is_alive(run.pid) else run


def _write(git_dir: Path, run: WorkerRun) -> None:
    with folder.open_folder(git_dir) as user_folder:
        if user_folder is not None:  # None after `hooks uninstall`: the folder must not come back
            user_folder.replace(NAME, json.dumps(asdict(run), indent=1).encode() + b"\n")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
