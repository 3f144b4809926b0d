"""`gitindex jobs`."""

from __future__ import annotations

from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.ops.codebase import open_codebase
from gitindex.ops.exact import refresh_jobs


@command("List refresh jobs, newest first: request, result and reason.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Maximum number of jobs."
)
def run(call: CommandCall, limit: int) -> Answer:
    data = refresh_jobs.list_jobs(open_codebase(call.path, call.environment), limit)
    rows = [_job_row(job) for job in data["jobs"]]
    header = ("job", "context", "status", "commit", "tries", "scope", "reason")
    return Answer(
        data, output.format_table(rows, header) if rows else "no jobs yet\nnext: gitindex refresh --wait"
    )


def _job_row(job: dict[str, Any]) -> tuple[str, ...]:
    reason = str(job["error"] or job["superseded_reason"] or "").split("\n")[0]
    scope = job["scope"] if job["scope"] == "full" else "part"
    return (
        str(job["id"]),
        job["context"],
        job["status"],
        job["head"][:12],
        str(job["attempts"]),
        scope,
        reason,
    )
