"""`gitindex gc`."""

from __future__ import annotations

from dataclasses import asdict

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.collect import collect_snapshots, collect_unused_stores
from gitindex.ops.maintain.store_inventory import UNUSED_DAYS


@command(
    "Delete snapshots that are no longer retained and the files that only they used; with --stores, unused stores."
)
@click.option(
    "--stores",
    "whole_stores",
    is_flag=True,
    help=f"Remove stores unused for {UNUSED_DAYS} days (see --days).",
)
@click.option(
    "--days",
    type=click.IntRange(0),
    default=UNUSED_DAYS,
    show_default=True,
    help="With --stores: days without use.",
)
@click.option("--force", is_flag=True, help="With --stores: also remove the current codebase's store.")
@click.option("--dry-run", is_flag=True, help="List what would be deleted; delete nothing.")
def run(call: CommandCall, whole_stores: bool, days: int, force: bool, dry_run: bool) -> Answer:
    if whole_stores:
        return _collect_stores(call, days=days, force=force, dry_run=dry_run)
    return _collect_snapshots(call, dry_run)


def _collect_snapshots(call: CommandCall, dry_run: bool) -> Answer:
    report = collect_snapshots(open_codebase(call.path, call.environment), dry_run=dry_run)
    if report is None:
        return Answer({"status": "ok", "removed": 0, "bytes_freed": 0, "kept": []}, "nothing to collect")
    data = {
        "status": "ok",
        "dry_run": dry_run,
        "removed": len(report.removed),
        "paths": list(report.removed),
        "bytes_freed": report.bytes_freed,
        "kept": list(report.kept),
    }
    freed = output.format_size(report.bytes_freed)
    text = f"{_verb(dry_run)} {len(report.removed)} entries ({freed}), kept {len(report.kept)} snapshots"
    return Answer(data, text)


def _collect_stores(call: CommandCall, *, days: int, force: bool, dry_run: bool) -> Answer:
    report = collect_unused_stores(call.path, call.environment, days=days, force=force, dry_run=dry_run)
    data = {
        "status": "ok",
        "dry_run": dry_run,
        "removed": list(report.removed),
        "kept": list(report.kept),
        "busy": [asdict(store) for store in report.busy],
        "bytes_freed": report.bytes_freed,
    }
    lines = [f"{_verb(dry_run)} {name}" for name in report.removed]
    lines += [f"kept {store.store_id}: {store.message}" for store in report.busy]
    freed = output.format_size(report.bytes_freed)
    lines.append(f"{_verb(dry_run)} {output.pluralize(len(report.removed), 'store')} ({freed})")
    return Answer(data, "\n".join(lines))


def _verb(dry_run: bool) -> str:
    return "would remove" if dry_run else "removed"
