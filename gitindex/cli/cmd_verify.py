"""`gitindex verify`."""

from __future__ import annotations

from dataclasses import asdict

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.transfer import transfer_bar
from gitindex.ops.sharing.verify_published import verify


@command("Check that the published snapshot of a commit is genuine and complete. Changes nothing.")
@click.option("--from", "url", default="", metavar="URL", help="s3://BUCKET/PREFIX or file:///DIRECTORY.")
@click.option("--commit", "rev", default="HEAD", metavar="REV", show_default=True, help="Commit to verify.")
@click.option("--deep", is_flag=True, help="Download and hash every object.")
def run(call: CommandCall, url: str, rev: str, deep: bool) -> Answer:
    with transfer_bar("verifying", not call.as_json) as transfer:
        report = verify(call.path, call.environment, rev=rev, url=url, deep=deep, transfer=transfer)
    signers = ", ".join(f"{signer['id']} {signer['comment']}".strip() for signer in report.signers)
    rows = [
        ("signed by", signers),
        ("built", f"{report.built_at} by {report.builder} in {report.build_ms / 1000:.1f} s"),
        (
            "holds",
            f"{report.artifacts:,} files in {report.objects:,} objects, {output.format_size(report.bytes)}",
        ),
        ("checked", "every byte" if report.deep else "signature, binding, table of contents, sizes"),
    ]
    return Answer(
        asdict(report), f"{report.commit[:12]} on {report.remote} is genuine\n{output.format_table(rows)}"
    )
