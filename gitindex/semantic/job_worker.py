"""One refresh job from claim to completion, in the order that keeps its promises (SE-3).

claim → run the indexer → read HEAD afresh → import and publish → completed. The output of a job whose HEAD
moved, or that was taken from us, is discarded; `completed` is written only after the publish returned. What
happens inside the steps is the caller's: this module owns their order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from gitindex.errors import ExactFactsError
from gitindex.semantic import job_queue
from gitindex.semantic.job_queue import RefreshJob

Output = TypeVar("Output")
_MAX_LOG = 4000


@dataclass(frozen=True, slots=True)
class Steps(Generic[Output]):
    """The parts of a job. `alive` given to `run` tells whether to go on and must be asked now and then."""

    run: Callable[[RefreshJob, Callable[[], bool]], Output]
    read_head: Callable[[], str]
    publish: Callable[
        [RefreshJob, Output, Callable[[], bool]], None
    ]  # asks `still current?` last before the swap
    discard: Callable[[Output], None]
    clock: Callable[[], float]
    on_step: Callable[[str], None] = lambda _: None  # named steps, for tests that kill here


class NoLongerCurrent(ExactFactsError):
    """Raised by `publish` when `still current?` said no: nothing was made visible."""

    code = "superseded"


def run_next(connection: sqlite3.Connection, worker: str, steps: Steps[Output]) -> RefreshJob | None:
    """Claim and run one job; its final row, or None when nothing is queued."""
    job_queue.recover(connection, steps.clock())
    job = job_queue.claim(connection, worker, steps.clock())
    if job is None:
        return None
    steps.on_step("claimed")
    try:
        output = steps.run(job, lambda: job_queue.heartbeat(connection, job.id, worker, steps.clock()))
    except ExactFactsError as error:
        job_queue.fail(connection, job, _format_error(error), steps.clock(), retry=_is_retryable(error))
        return job_queue.get(connection, job.id)
    steps.on_step("indexed")
    try:
        _import_output(connection, job, output, steps)
    finally:
        steps.discard(output)
    return job_queue.get(connection, job.id)


def _import_output(
    connection: sqlite3.Connection, job: RefreshJob, output: Output, steps: Steps[Output]
) -> None:
    def is_current() -> bool:
        return _confirm_current(connection, job, steps)

    if not is_current():
        return
    steps.on_step("checked")
    try:
        steps.publish(job, output, is_current)
    except NoLongerCurrent:
        return
    except ExactFactsError as error:
        job_queue.fail(connection, job, _format_error(error), steps.clock(), retry=_is_retryable(error))
        return
    steps.on_step("published")
    job_queue.complete(connection, job, steps.clock())
    steps.on_step("completed")


def _confirm_current(connection: sqlite3.Connection, job: RefreshJob, steps: Steps[Output]) -> bool:
    """Ours, running, and about the commit HEAD names at this moment; else the job ends here as superseded."""
    if not job_queue.heartbeat(connection, job.id, job.worker or "", steps.clock()):
        return False
    if steps.read_head() == job.head:
        return True
    job_queue.supersede(connection, job, "HEAD moved", steps.clock())
    return False


def _is_retryable(error: ExactFactsError) -> bool:
    """Another attempt: whoever raised the error says so."""
    return bool(error.detail.get("retry", False))


def _format_error(error: ExactFactsError) -> str:
    """What the job's row keeps: the diagnosis, the message, the end of the tool's log."""
    name = error.detail.get("diagnosis") or error.code
    log = str(error.detail.get("log") or "")[-_MAX_LOG:]
    return f"{name}: {error.message}" + (f"\n{log}" if log else "")
