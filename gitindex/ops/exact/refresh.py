"""`refresh`: bring exact facts to the commit HEAD names, by one job per project that needs it (SE-3, SE-4).

Discover, register, enqueue; with `wait`, work the queue until what was asked for is done. A project whose inputs
did not change since its last refresh costs nothing.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gitindex.errors import ExactFactsError, NotARepository, UsageError
from gitindex.git.repo import Head, read_head
from gitindex.model.foreign import quote_argument
from gitindex.model.ids import ulid
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.catchup import catch_up
from gitindex.semantic import control_database, indexer_run, job_queue, job_worker, refresher
from gitindex.semantic.contexts import Context
from gitindex.semantic.indexer_run import IndexerSettings
from gitindex.semantic.indexers.adapter import IndexerFailure
from gitindex.semantic.indexers.registry import indexer_for
from gitindex.semantic.job_error import JobError
from gitindex.semantic.job_queue import JobStatus, RefreshJob
from gitindex.semantic.process import Caps
from gitindex.semantic.refresh_scope import RefreshScope, canonical_scope
from gitindex.semantic.refresher import Refresher
from gitindex.store import manifests

_POLL_SECONDS = 0.1
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
UNAVAILABLE, CURRENT, QUEUED = "unavailable", "current", "queued"
REFRESHED, FAILED, SUPERSEDED = "refreshed", "failed", "superseded"
_OUTCOMES = {
    JobStatus.COMPLETED: REFRESHED,
    JobStatus.FAILED: FAILED,
    JobStatus.SUPERSEDED: SUPERSEDED,
}


@dataclass(frozen=True, slots=True)
class RefreshOptions:
    contexts: tuple[str, ...] = ()  # ids, languages or roots; all when empty
    files: tuple[str, ...] = ()  # path keys of files and directories; everything when empty
    wait: bool = False
    allow_project_code: bool = False
    catch_up: bool = True  # sync first, so that positions belong to files as indexed
    caps: Caps = field(default_factory=Caps)
    lease_wait: float = 30.0
    python_env: Path | None = None  # installed packages for scip-python
    node_modules: Path | None = None  # and for scip-typescript


@dataclass(slots=True)
class ContextReport:
    """What became of one project."""

    context: str
    language: str
    root: str
    files: int
    tool: str
    outcome: str
    job: int | None = None
    diagnosis: str = ""
    message: str = ""
    next: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RefreshReport:
    status: str  # ok | failed
    head: str
    snapshot_id: str | None
    contexts: tuple[ContextReport, ...]


Notify = Callable[[str], None]


def refresh(
    codebase: Codebase, options: RefreshOptions | None = None, notify: Notify = lambda _: None
) -> RefreshReport:
    """Raises NotARepository, UsageError for an unknown context, and what a sync raises."""
    refresh_options = options or RefreshOptions()
    repo = codebase.repo
    if repo is None:
        raise NotARepository(f"{codebase.root} is not in a git repository", hint="git init")
    if refresh_options.catch_up:
        catch_up(codebase)
    revision = read_head(repo)
    return _run_refresh(codebase, revision, refresh_options, lambda: read_head(repo).commit or "", notify)


def refresh_for_build(
    codebase: Codebase, revision: Head, options: RefreshOptions | None = None
) -> RefreshReport:
    """The same for the snapshot of one commit in a build area: its HEAD never moves, and it waits."""
    build_options = replace(options or RefreshOptions(), wait=True, catch_up=False)
    return _run_refresh(codebase, revision, build_options, lambda: revision.commit or "", lambda _: None)


def make_indexer_environment(codebase: Codebase, options: RefreshOptions) -> IndexerSettings:
    tools = tools_folder(codebase.environment.home)
    return IndexerSettings(tools, codebase.environment.variables, options.caps, options.allow_project_code)


def tools_folder(home: Path) -> Path:
    """Where `indexers install` puts what it installs. Build areas lie below the home they were made in."""
    return (home.parent if home.name == "builds" else home) / "tools"


@contextmanager
def open_job_queue(codebase: Codebase) -> Iterator[sqlite3.Connection]:
    """The queue of this store, made when missing. Raises ExactFactsError when it cannot be opened."""
    path = codebase.layout.control
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(closing(control_database.open_control(path)))
        except sqlite3.DatabaseError as error:
            is_damaged = error.sqlite_errorcode & 0xFF in _DAMAGE_CODES
            raise ExactFactsError(
                f"the queue of refresh jobs cannot be opened: {error}",
                hint="gitindex repair" if is_damaged else f"ls -ld {quote_argument(str(path))}",
            ) from error
        yield connection


def _run_refresh(
    codebase: Codebase, revision: Head, options: RefreshOptions, read_head: Callable[[], str], notify: Notify
) -> RefreshReport:
    if revision.commit is None or revision.tree is None:
        raise UsageError("there is no commit yet", hint="git commit")
    assert codebase.repo is not None
    runner = Refresher(
        codebase.layout,
        codebase.repo,
        revision.commit,
        revision.tree,
        make_indexer_environment(codebase, options),
        read_head,
        time.time,
        lease_wait=options.lease_wait,
        python_env=options.python_env,
        node_modules=options.node_modules,
    )
    with open_job_queue(codebase) as connection, runner:
        reports = _queue_jobs(connection, runner, options)
        if options.wait:
            _run_jobs(connection, runner, reports, notify)
    manifest = manifests.read_active(codebase.layout)
    any_failed = any(report.outcome in (FAILED, SUPERSEDED) for report in reports)
    all_unavailable = bool(reports) and all(report.outcome == UNAVAILABLE for report in reports)
    status = "failed" if any_failed or all_unavailable else "ok"
    return RefreshReport(status, revision.commit, manifest.snapshot_id if manifest else None, tuple(reports))


# -- asking ------------------------------------------------------------------------------------------


def _queue_jobs(
    connection: sqlite3.Connection, runner: Refresher, options: RefreshOptions
) -> list[ContextReport]:
    """Register what the tree holds and queue what is wanted."""
    contexts = runner.contexts()
    rows = control_database.register_contexts(connection, contexts, {})
    runner.keys = {row.id: (row.language, row.root) for row in rows}
    ids = {key: number for number, key in runner.keys.items()}
    job_queue.supersede_other_heads(connection, runner.commit, runner.clock())
    job_scope = _make_scope(options.files)
    return [
        _queue_job(connection, runner, context, ids[context.key], job_scope)
        for context in _select_contexts(contexts, options)
    ]


def _select_contexts(contexts: list[Context], options: RefreshOptions) -> list[Context]:
    if not options.contexts:
        selected = contexts
    else:
        selected = [
            context for name in options.contexts for context in refresher.select_contexts(contexts, name)
        ]
        if not selected:
            available = ", ".join(context.id for context in contexts) or "none"
            raise UsageError(f"no such context: {', '.join(options.contexts)}; there are: {available}")
    if options.files:
        selected = [context for context in selected if _owns(context, options.files)]
        if not selected:
            raise UsageError(f"no project owns {', '.join(options.files)} at HEAD", hint="gitindex refresh")
    return list(dict.fromkeys(selected))


def _owns(context: Context, files: tuple[str, ...]) -> bool:
    return any(path in files or any(path.startswith(f"{name}/") for name in files) for path in context.files)


def _make_scope(files: tuple[str, ...]) -> RefreshScope | None:
    """A name may mean a file or all below a directory: as both it covers either."""
    return canonical_scope(files=files, packages=files) if files else None


def _queue_job(
    connection: sqlite3.Connection,
    runner: Refresher,
    context: Context,
    context_id: int,
    job_scope: RefreshScope | None,
) -> ContextReport:
    indexer = indexer_for(context.language)
    report = ContextReport(
        context.id, context.language, context.root, len(context.files), indexer.name, QUEUED
    )
    try:
        program = indexer_run.locate_program(indexer, runner.settings)
    except IndexerFailure as error:
        report.outcome, report.diagnosis = UNAVAILABLE, error.diagnosis.value
        report.message, report.next = error.message, error.hint or ""
        return report
    if _is_up_to_date(runner, context, program.version):
        report.outcome = CURRENT
        return report
    report.job = job_queue.enqueue(
        connection, context_id, job_scope, runner.commit, runner.clock(), reason="refresh"
    ).job_id
    return report


def _is_up_to_date(runner: Refresher, context: Context, version: str) -> bool:
    manifest = manifests.read_active(runner.layout)
    entries = manifest.semantic if manifest else ()
    for entry in entries:
        if (entry["language"], entry["root"]) == context.key:
            tool_version = version or str(entry["version"])
            return bool(entry.get("inputs")) and entry["inputs"] == runner.hash_inputs(context, tool_version)
    return False


# -- working -----------------------------------------------------------------------------------------


def _run_jobs(
    connection: sqlite3.Connection, runner: Refresher, reports: list[ContextReport], notify: Notify
) -> None:
    """Run queued jobs until ours are finished, by us or by whoever claimed them first."""
    name = f"{os.getpid()}-{ulid()}"
    waiting = {report.job: report for report in reports if report.job is not None}
    while waiting:
        notify(", ".join(sorted(report.context for report in waiting.values())))
        ran = job_worker.run_next(connection, name, runner.steps())
        for job_id in list(waiting):
            job = job_queue.get(connection, job_id)
            if job is None or job.status in _OUTCOMES:
                _record_outcome(waiting.pop(job_id), job, runner)
        if ran is None and waiting:
            time.sleep(_POLL_SECONDS)


def _record_outcome(report: ContextReport, job: RefreshJob | None, runner: Refresher) -> None:
    if job is None:
        report.outcome, report.message = FAILED, "the job is gone"
        return
    report.outcome = _OUTCOMES[job.status]
    if job.status is JobStatus.SUPERSEDED:
        report.message, report.next = job.superseded_reason or "", "gitindex refresh --wait"
    if job.error and job.status is JobStatus.FAILED:
        error = JobError.parse(job.error)
        report.diagnosis, report.message = error.diagnosis, error.message
        report.detail["log"] = error.log
        report.next = "gitindex jobs --json"
    if job.id in runner.results:
        indexed, imported = runner.results[job.id]
        detail = asdict(imported)
        detail["rejected"] = [list(item) for item in imported.rejected[:20]]
        report.detail = {
            **detail,
            "version": indexed.version,
            "uncovered": list(indexed.uncovered[:20]),
            "excluded": list(indexed.excluded),
            "remarks": list(indexed.remarks),
            "index_seconds": round(indexed.seconds, 2),
            "index_peak_bytes": indexed.peak_bytes,
        }
