"""`gitindex remote gc`."""

from __future__ import annotations

from dataclasses import asdict

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.ops.sharing.remote_gc import KEEP_COMMITS, KEEP_DAYS, remote_gc


@click.group(help="Maintain the remote.")
def run() -> None:
    pass


@command(
    "Delete objects that no kept manifest references. Takes two runs at least a day apart: mark, then delete."
)
@click.option("--to", "url", default="", metavar="URL", help="s3://BUCKET/PREFIX or file:///DIRECTORY.")
@click.option(
    "--keep",
    type=click.IntRange(1),
    default=KEEP_COMMITS,
    show_default=True,
    help="Number of newest commits to keep.",
)
@click.option(
    "--days",
    type=click.IntRange(0),
    default=KEEP_DAYS,
    show_default=True,
    help="Keep snapshots younger than this many days.",
)
@click.option("--dry-run", is_flag=True, help="List what would be deleted; delete nothing.")
def gc(call: CommandCall, url: str, keep: int, days: int, dry_run: bool) -> Answer:
    report = remote_gc(call.path, call.environment, url=url, keep=keep, days=days, dry_run=dry_run)
    verb = "would drop" if dry_run else "dropped"
    lines = [
        f"{verb} {output.pluralize(report.manifests['dropped'], 'manifest')}, kept {report.manifests['kept']:,}",
        f"{'would delete' if dry_run else 'deleted'} {output.pluralize(report.objects['deleted'], 'object')} "
        f"({output.format_size(report.bytes_freed)}), marked {report.objects['condemned']:,} for the next run",
    ]
    lines += ["stopped early: a snapshot was published meanwhile; run it again"] if report.stale else []
    return Answer(asdict(report), "\n".join(lines))


run.add_command(gc, "gc")
