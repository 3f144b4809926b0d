"""Runs one refresh job from claim to completion (SE-3).

claim → run the indexer → read HEAD again → import and publish → completed. The output of a job whose HEAD moved, or
that another worker took over, is discarded; `completed` is written only after the publish returned. The caller
defines the steps (`Steps`); this module defines their order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from gitindex.errors import ExactFactsError
from gitindex.semantic import job_queue
from gitindex.semantic.job_error import JobError
from gitindex.semantic.job_queue import RefreshJob

Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Steps(Generic[Output]):
    """The parts of a job. `run` must call the function it is given every few seconds and stop when that returns False.

    `publish` calls the function it is given last before the swap, and raises NoLongerCurrent when that returns False.
    """

    run: Callable[[RefreshJob, Callable[[], bool]], Output]
    read_head: Callable[[], str]
    publish: Callable[[RefreshJob, Output, Callable[[], bool]], None]
    discard: Callable[[Output], None]
    clock: Callable[[], float]
    on_step: Callable[[str], None] = lambda _: None  # with the step's name; tests kill the process there


class NoLongerCurrent(ExactFactsError):
    """Raised by `Steps.publish` when the job is no longer current: nothing was published."""

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
        _fail(connection, job, error, steps.clock())
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
        _fail(connection, job, error, steps.clock())
        return
    steps.on_step("published")
    job_queue.complete(connection, job, steps.clock())
    steps.on_step("completed")


def _confirm_current(connection: sqlite3.Connection, job: RefreshJob, steps: Steps[Output]) -> bool:
    """Whether the job is still ours and HEAD still names its commit. Supersedes the job when HEAD moved."""
    if not job_queue.heartbeat(connection, job.id, job.worker or "", steps.clock()):
        return False
    if steps.read_head() == job.head:
        return True
    job_queue.supersede(connection, job, "HEAD moved", steps.clock())
    return False


def _fail(connection: sqlite3.Connection, job: RefreshJob, error: ExactFactsError, now: float) -> None:
    """Whoever raised the error decides by `retry` whether another attempt may help."""
    retry = bool(error.detail.get("retry", False))
    job_queue.fail(connection, job, JobError.from_exception(error).to_text(), now, retry=retry)
