"""`gitindex hooks install|uninstall|status|run` (and `worker`, which hooks start)."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.hooks import events, spawn, worker
from gitindex.hooks import install as native
from gitindex.hooks.install import HookReport, HookStatus
from gitindex.hooks.journal import DIED, FAILED, RUNNING, WorkerRun
from gitindex.ops.discovery import require_repository


@click.group(help="Index after every commit, checkout, merge and rewrite, in the background.")
def run() -> None:
    pass


@command("Install hooks that start a background sync after new commits. Other hooks keep running.")
@click.option(
    "--files", is_flag=True, help="Write hook files even if git supports hooks in its configuration."
)
def install(call: CommandCall, files: bool) -> Answer:
    report = native.install(require_repository(call.path), files=files)
    lines = _outcome_lines(report)
    for outcome in report.refused_outcomes:
        lines += ["", f"{outcome.event}: {outcome.reason}. Add this yourself:", outcome.snippet or ""]
    return Answer(
        {"status": "ok", **_report_json(report)},
        "\n".join(lines),
        exit_code=1 if report.refused_outcomes else 0,
    )


@command("Remove what install added, and nothing else.")
def uninstall(call: CommandCall) -> Answer:
    report = native.uninstall(require_repository(call.path))
    lines = _outcome_lines(report) or ["nothing was installed"]
    lines += [f"{folder} is still used by a worker; run this again later" for folder in report.leftovers]
    return Answer(
        {"status": "ok", **_report_json(report)}, "\n".join(lines), exit_code=1 if report.leftovers else 0
    )


@command("Report whether a commit would reach gitindex, by a dry run that starts nothing.")
def status(call: CommandCall) -> Answer:
    hook_status = native.read_status(require_repository(call.path))
    data = {"status": "ok", "effective": hook_status.is_effective, **asdict(hook_status)}
    return Answer(data, _render_status(hook_status))


@click.command(help="Write a hook request and start the worker, as a hook does. Never fails.")
@click.argument("event", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run_hook(event: str | None, arguments: tuple[str, ...]) -> int:  # noqa: ARG001 - git passes arguments that we do not need
    event_name = event if event in events.EVENTS else events.detect_pre_commit_event(os.environ)
    spawn.start(event_name, Path.cwd(), os.environ)
    return 0


@click.command(name="worker", hidden=True)
@click.option("--path", type=click.Path(path_type=Path), required=True)
@click.option("--git-dir", type=click.Path(path_type=Path), required=True)
def run_worker(path: Path, git_dir: Path) -> int:
    worker.main(path, git_dir)
    return 0


def _outcome_lines(report: HookReport) -> list[str]:
    return [f"{outcome.event}: {outcome.action} ({outcome.where})" for outcome in report.outcomes]


def _report_json(report: HookReport) -> dict[str, Any]:
    return {
        "events": [asdict(outcome) for outcome in report.outcomes],
        "leftovers": [str(folder) for folder in report.leftovers],
    }


def _render_status(hook_status: HookStatus) -> str:
    rows = [
        (reach.event, "yes" if reach.reached else "no", reach.through, reach.proof or "")
        for reach in hook_status.events
    ]
    lines = [output.format_table(rows, ("event", "reaches gitindex", "through", "proof"))]
    lines.append("a hook request is pending" if hook_status.pending else "no hook request is pending")
    if hook_status.last_run is not None:
        lines.append(_render_run(hook_status.last_run))
        if hook_status.last_run.result in (FAILED, DIED):
            lines.append(
                f"next: {hook_status.last_run.hint or 'gitindex sync'}"
                if hook_status.pending
                else "a later sync succeeded"
            )
    if hook_status.obstacle:
        lines += [hook_status.obstacle, "next: gitindex sync"]
    elif not hook_status.is_effective:
        lines.append("next: gitindex hooks install")
    return "\n".join(lines)


def _render_run(last_run: WorkerRun) -> str:
    explanations = {
        RUNNING: f"process {last_run.pid}",
        FAILED: last_run.error,
        DIED: f"process {last_run.pid} was killed",
    }
    explanation = explanations.get(last_run.result, last_run.detail)
    return f"last run {last_run.started_at}: {last_run.result}" + (f", {explanation}" if explanation else "")


for part, name in (
    (install, "install"),
    (uninstall, "uninstall"),
    (status, "status"),
    (run_hook, "run"),
    (run_worker, "worker"),
):
    run.add_command(part, name)
