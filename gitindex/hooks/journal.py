"""What the worker did last, for `status`: a failed background run is visible at the next command.

Written only by the worker that holds the lock; `running` with a dead pid reads as `died`.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitindex.hooks import note
from gitindex.store import atomic
from gitindex.store.lease import alive

_NAME = "worker.json"

RUNNING, DONE, FAILED, DEFERRED, DIED = "running", "done", "failed", "deferred", "died"


@dataclass(frozen=True)
class Run:
    """`result` is running, done, failed, deferred (git or another writer stayed busy) or died."""

    pid: int
    started_at: str
    ended_at: str | None
    result: str
    detail: str | None = None
    error: str | None = None
    hint: str | None = None


def begin(git_dir: Path) -> Run:
    run = Run(pid=os.getpid(), started_at=_now(), ended_at=None, result=RUNNING)
    _write(git_dir, run)
    return run


def end(
    git_dir: Path,
    run: Run,
    result: str,
    *,
    detail: str | None = None,
    error: str | None = None,
    hint: str | None = None,
) -> None:
    """Close the record of `run`."""
    _write(git_dir, replace(run, ended_at=_now(), result=result, detail=detail, error=error, hint=hint))


def read(git_dir: Path) -> Run | None:
    """The last run, or None when there never was one (or its record is not ours to read)."""
    try:
        raw: Any = json.loads((note.folder(git_dir) / _NAME).read_bytes())
        run = Run(**raw)
    except (OSError, ValueError, TypeError):
        return None
    return replace(run, result=DIED) if run.result == RUNNING and not alive(run.pid) else run


def _write(git_dir: Path, run: Run) -> None:
    place = note.folder(git_dir)
    if place.is_dir():  # gone: `hooks uninstall` was here, and nothing of ours may come back
        atomic.write_json(place / _NAME, asdict(run))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
