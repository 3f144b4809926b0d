"""`gitindex sync`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.progress_bar import progress_bar
from gitindex.ops.syncing.catchup import catch_up

if TYPE_CHECKING:
    from gitindex.ops.syncing.sync_report import SyncReport


@command("Index what changed since the last snapshot and publish a new one.")
@click.option("--full", is_flag=True, help="Index every file again instead of building on the last snapshot.")
@click.option("--commit-only", is_flag=True, help="Index HEAD without dirty and untracked files.")
@click.option("--allow-degraded", is_flag=True, help="Publish even if some files could not be indexed.")
@click.option(
    "--wait", "wait", type=float, default=30.0, show_default=True, help="Seconds to wait for another writer."
)
def run(call: CommandCall, full: bool, commit_only: bool, allow_degraded: bool, wait: float) -> Answer:
    codebase = call.open_codebase()
    with progress_bar(not call.as_json) as progress:
        report = catch_up(
            codebase,
            progress,
            full=full,
            commit_only=commit_only,
            allow_degraded=allow_degraded,
            wait=wait,
        )
    return Answer(report_json(report), report_text(report))


def report_json(report: SyncReport) -> dict[str, object]:
    return {**asdict(report), "errors": [asdict(error) for error in report.errors]}


def report_text(report: SyncReport) -> str:
    commit_label = f" at {report.commit[:12]}" if report.commit else ""
    total = f"{output.pluralize(report.counts['files'], 'file')}, {output.pluralize(report.counts['chunks'], 'chunk')}"
    warnings = (
        [f"skipped: {report.unreadable:,} unreadable; see: gitindex status"] if report.unreadable else []
    )
    warnings += _failure_lines(report)
    if report.noop:
        return "\n".join([f"nothing to do: {total}{commit_label} ({report.elapsed_ms} ms)", *warnings])
    change_kinds = ("add", "modify", "delete", "rename")
    changed = ", ".join(f"{report.changes[name]:,} {name}" for name in change_kinds if report.changes[name])
    lines = [
        f"published {report.snapshot_id}{commit_label}: {changed or 'no file changed'}",
        f"{total} in {report.elapsed_ms} ms",
        *warnings,
    ]
    if report.seeded_from:
        lines.append(f"started from store {report.seeded_from}")
    lines += [output.single_line(f"degraded: {error.path_key}: {error.message}") for error in report.errors]
    return "\n".join(lines)


def _failure_lines(report: SyncReport) -> list[str]:
    """What git could not read, and how the files were indexed instead."""
    lines = []
    if report.fallback is not None:
        lines.append(output.single_line(f"git failed, so the files were scanned: {report.fallback.message}"))
        lines.append(f"  next: {report.fallback.next}, then gitindex sync")
    if report.damage is not None:
        lines.append(output.single_line(f"read from the working tree: {report.damage.message}"))
        lines.append(f"  next: {report.damage.next}")
    return lines
