"""`gitindex merge`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.ops.sharing.merge import merge


@command("Merge all shards of a build (build --shard I/N --output DIR) into one build.")
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@click.option(
    "--commit", "rev", default="HEAD", metavar="REV", show_default=True, help="Commit that was built."
)
def run(call: CommandCall, folders: tuple[Path, ...], rev: str) -> Answer:
    report = merge(call.path, call.environment, folders, rev)
    text = (
        f"merged {output.pluralize(report.shards, 'shard')} of {report.commit[:12]} into {report.snapshot_id}: "
        f"{output.pluralize(report.counts['files'], 'file')} in {report.elapsed_ms} ms\nnext: gitindex push"
    )
    return Answer(asdict(report), text)
