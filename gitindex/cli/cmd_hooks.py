"""`gitindex hooks install|uninstall|status|run` (and `worker`, which hooks start)."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.errors import NotARepository
from gitindex.git.repo import Repo, discover
from gitindex.hooks import events, spawn, worker
from gitindex.hooks import install as native
from gitindex.hooks.install import Report, Status
from gitindex.hooks.journal import DIED, FAILED, RUNNING, Run


@click.group(help="Index after every commit, checkout, merge and rewrite, in the background.")
def run() -> None:
    pass


@command("Make git tell gitindex about new commits. Other hooks keep running.")
@click.option("--files", is_flag=True, help="Write hook files although this git could do with configuration.")
def install(call: Call, files: bool) -> Answer:
    report = native.install(_repository(call.path), files=files)
    lines = _outcomes(report)
    for outcome in report.refused:
        lines += ["", f"{outcome.event}: {outcome.reason}. Add this yourself:", outcome.snippet or ""]
    return Answer({"status": "ok", **_data(report)}, "\n".join(lines), exit_code=1 if report.refused else 0)


@command("Remove what install added, and nothing else.")
def uninstall(call: Call) -> Answer:
    report = native.uninstall(_repository(call.path))
    lines = _outcomes(report) or ["nothing was installed"]
    lines += [f"{folder} is still used by a worker; run this again later" for folder in report.leftovers]
    return Answer({"status": "ok", **_data(report)}, "\n".join(lines), exit_code=1 if report.leftovers else 0)


@command("Would a commit reach gitindex? Answered by a dry run that starts nothing.")
def status(call: Call) -> Answer:
    found = native.status(_repository(call.path))
    data = {"status": "ok", "effective": found.effective, **asdict(found)}
    return Answer(data, _status_text(found))


@click.command(help="What a hook does: leave a request, start the worker. Never fails.")
@click.argument("event", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def enter(event: str | None, arguments: tuple[str, ...]) -> int:  # noqa: ARG001 - git's own arguments are hints we ignore
    named = event if event in events.EVENTS else events.under_pre_commit(os.environ)
    spawn.start(named, Path.cwd(), os.environ)
    return 0


@click.command(name="worker", hidden=True)
@click.option("--path", type=click.Path(path_type=Path), required=True)
@click.option("--git-dir", type=click.Path(path_type=Path), required=True)
def work(path: Path, git_dir: Path) -> int:
    worker.main(path, git_dir)
    return 0


def _repository(path: Path) -> Repo:
    repo = discover(path)
    if repo is None:
        raise NotARepository(f"{path.absolute()} is not in a git repository", hint="git init")
    return repo


def _outcomes(report: Report) -> list[str]:
    return [f"{outcome.event}: {outcome.action} ({outcome.where})" for outcome in report.outcomes]


def _data(report: Report) -> dict[str, Any]:
    return {
        "events": [asdict(outcome) for outcome in report.outcomes],
        "leftovers": [str(folder) for folder in report.leftovers],
    }


def _status_text(found: Status) -> str:
    rows = [
        (reach.event, "yes" if reach.reached else "no", reach.through, reach.proof or "")
        for reach in found.events
    ]
    lines = [output.table(rows, ("event", "reaches us", "through", "known by"))]
    lines.append("work is pending" if found.pending else "no work is pending")
    if found.last_run is not None:
        lines.append(_run_text(found.last_run))
        if found.last_run.result in (FAILED, DIED):
            lines.append(
                f"next: {found.last_run.hint or 'gitindex sync'}" if found.pending else "made good since"
            )
    if found.obstacle:
        lines += [found.obstacle, "next: gitindex sync"]
    elif not found.effective:
        lines.append("next: gitindex hooks install")
    return "\n".join(lines)


def _run_text(last: Run) -> str:
    words = {RUNNING: f"process {last.pid}", FAILED: last.error, DIED: f"process {last.pid} was killed"}
    told = words.get(last.result, last.detail)
    return f"last run {last.started_at}: {last.result}" + (f", {told}" if told else "")


for part, name in (
    (install, "install"),
    (uninstall, "uninstall"),
    (status, "status"),
    (enter, "run"),
    (work, "worker"),
):
    run.add_command(part, name)
