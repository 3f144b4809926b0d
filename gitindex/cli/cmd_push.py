"""`gitindex push`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from gitindex.cli import output, summary
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.transfer import transfer_bar
from gitindex.ops.sharing.push import PushOptions, PushReport, push


@command(
    "Sign and upload the build of a commit. The key is in GITINDEX_SIGNING_KEY_FILE or GITINDEX_SIGNING_KEY."
)
@click.option("--to", "url", default="", metavar="URL", help="s3://BUCKET/PREFIX or file:///DIRECTORY.")
@click.option("--commit", "rev", default="HEAD", metavar="REV", show_default=True, help="Commit to push.")
@click.option(
    "--branch", "branches", multiple=True, metavar="PATTERN", help="Also allow branches that match PATTERN."
)
@click.option(
    "--default-branch",
    default="",
    metavar="NAME",
    help="The default branch, if origin/HEAD is not set (a checkout in CI).",
)
@click.option(
    "--successor",
    "successors",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Private key of a successor: it signs too, and readers trust it from then on.",
)
def run(
    call: CommandCall,
    url: str,
    rev: str,
    branches: tuple[str, ...],
    default_branch: str,
    successors: tuple[Path, ...],
) -> Answer:
    options = PushOptions(
        url=url, rev=rev, branches=branches, default_branch=default_branch, successors=successors
    )
    with transfer_bar("pushing", not call.as_json) as transfer:
        report = push(call.path, call.environment, options, transfer)
    summary.append(call.environment, f"gitindex {_verb(report)} {report.commit[:12]}", _summary_rows(report))
    summary.set_outputs(call.environment, {"uploaded": str(report.bytes["uploaded"])})
    return Answer(asdict(report), _render_text(report))


def _summary_rows(report: PushReport) -> list[tuple[str, str]]:
    return [
        ("remote", report.remote),
        (
            "uploaded",
            f"{output.format_size(report.bytes['uploaded'])} in {report.objects['uploaded']:,} objects",
        ),
        ("reused", f"{output.format_size(report.bytes['reused'])} in {report.objects['reused']:,} objects"),
        ("signed by", ", ".join(report.signers)),
        ("time", f"{report.elapsed_ms / 1000:.1f} s"),
    ]


def _render_text(report: PushReport) -> str:
    lines = [
        f"{_verb(report)} {report.commit[:12]} to {report.remote}",
        output.format_table(_summary_rows(report)[1:]),
    ]
    lines += [f"successor key: {key}" for key in report.successors]
    return "\n".join(lines)


def _verb(report: PushReport) -> str:
    return "pushed" if report.manifest == "created" else "already published:"
