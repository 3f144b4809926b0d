"""`gitindex repair`."""

from __future__ import annotations

from dataclasses import asdict

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.progress_bar import progress_bar
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.repair import RepairReport, repair_store

_SCOPES = {
    "none": "nothing is damaged",
    "control": "small files beside the snapshots are rewritten",
    "files": "only the files of the damaged segments are indexed again",
    "lexical": "the lexical index is rebuilt from the tables",
    "full": "a full reindex is needed",
}


@command("Find damaged artifacts and rebuild them.")
@click.option("--dry-run", is_flag=True, help="Report the damage and the planned repair; change nothing.")
def run(call: CommandCall, dry_run: bool) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    with progress_bar(not call.as_json) as progress:
        report = repair_store(codebase, dry_run=dry_run, progress=progress)
    return Answer({**asdict(report), "dry_run": dry_run}, _render_text(report, dry_run))


def _render_text(report: RepairReport, dry_run: bool) -> str:
    lines = [output.single_line(f"damaged: {path}") for path in report.damaged]
    lines.append(_SCOPES[report.scope])
    if not dry_run and report.scope not in ("none", "control"):
        lines.append(f"published {report.snapshot_id} ({report.files_rebuilt:,} files indexed again)")
    return "\n".join(lines)
