"""`gitindex fetch`."""

from __future__ import annotations

from dataclasses import asdict

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.progress_bar import progress_bar
from gitindex.cli.transfer import transfer_bar
from gitindex.model.foreign import quote_text
from gitindex.ops.codebase import open_codebase
from gitindex.ops.sharing.fetch import FetchOptions, fetch
from gitindex.ops.sharing.fetch_report import FetchReport


@command("Download the index of this commit from the team's remote, verify it, and index your local changes.")
@click.option("--from", "url", default="", metavar="URL", help="s3://BUCKET/PREFIX or file:///DIRECTORY.")
@click.option(
    "--commit",
    "rev",
    default="HEAD",
    metavar="REV",
    show_default=True,
    help="Commit to search from: it or its nearest published ancestor is fetched.",
)
@click.option("--allow-degraded", is_flag=True, help="Publish even if some local files could not be indexed.")
def run(call: CommandCall, url: str, rev: str, allow_degraded: bool) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    options = FetchOptions(url, rev, allow_degraded)
    with progress_bar(not call.as_json) as progress, transfer_bar("fetching", not call.as_json) as transfer:
        report = fetch(codebase, options, progress, transfer)
    return Answer(asdict(report), report_text(report))


def report_text(report: FetchReport) -> str:
    target = report.target_commit[:12]
    commits_behind = output.pluralize(report.distance or 0, "commit")
    position = f"no ancestor of {target}" if report.distance is None else f"{commits_behind} behind {target}"
    local_changes = ", ".join(f"{count:,} {name}" for name, count in report.caught_up.items() if count)
    rows = [
        ("base", f"{report.base_commit[:12]}, {position}"),
        (
            "downloaded",
            f"{output.format_size(report.bytes['downloaded'])} in {report.objects['downloaded']:,} objects",
        ),
        ("reused", f"{output.format_size(report.bytes['reused'])} in {report.objects['reused']:,} objects"),
        ("indexed here", local_changes or "nothing"),
        ("signed by", f"{report.signer} (builder: {quote_text(report.builder)})"),
        ("time", f"{report.elapsed_ms} ms{_format_saved_time(report)}"),
        ("snapshot", report.snapshot_id),
    ]
    lines = [output.single_line(f"fetched from {report.remote}"), output.format_table(rows)]
    lines += [f"now also trusted: {key} (handed over by a trusted key)" for key in report.rotated]
    lines += [
        output.single_line(f"skipped: {skipped_base['message']}") for skipped_base in report.passed_over
    ]
    if report.fallback is not None:
        lines.append(output.single_line(f"git failed, so the files were scanned: {report.fallback.message}"))
        lines.append(f"  next: {report.fallback.next}, then gitindex sync")
    return "\n".join(lines)


def _format_saved_time(report: FetchReport) -> str:
    if not report.saved_ms:
        return ""
    return f"; building took {report.built_ms / 1000:.1f} s, so this saved {report.saved_ms / 1000:.1f} s"
