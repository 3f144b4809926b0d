"""`gitindex gc`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.errors import GitindexError
from gitindex.lifecycle import gc
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.store_inventory import UNUSED_DAYS, collect_stores
from gitindex.store import atomic, lease, manifests
from gitindex.store.clock import read_clock


@command("Delete snapshots and files that no retained snapshot needs; with --stores, whole unused stores.")
@click.option(
    "--stores", "whole", is_flag=True, help=f"Remove stores unused for {UNUSED_DAYS} days (see --days)."
)
@click.option("--days", type=click.IntRange(0), default=UNUSED_DAYS, show_default=True)
@click.option("--force", is_flag=True, help="With --stores: the current codebase's store too.")
@click.option("--dry-run", is_flag=True, help="Say what would go.")
def run(call: CommandCall, whole: bool, days: int, force: bool, dry_run: bool) -> Answer:
    return _collect_unused_stores(call, days, force, dry_run) if whole else _collect_snapshots(call, dry_run)


def _collect_snapshots(call: CommandCall, dry_run: bool) -> Answer:
    layout = open_codebase(call.path, call.environment).layout
    if manifests.read_active(layout) is None:
        return Answer({"status": "ok", "removed": 0, "bytes_freed": 0, "kept": []}, "nothing to collect")
    if dry_run:
        plan = gc.plan(layout, read_clock(), lease.next_epoch(layout))
        freed = sum(map(atomic.tree_size, plan.paths))
    else:
        report = gc.collect(layout)
        plan, freed = report.plan, report.bytes_freed
    data: dict[str, Any] = {
        "status": "ok",
        "dry_run": dry_run,
        "removed": len(plan.paths),
        "paths": [path.relative_to(layout.base).as_posix() for path in plan.paths],
        "bytes_freed": freed,
        "kept": list(plan.retained),
    }
    verb = "would remove" if dry_run else "removed"
    return Answer(
        data,
        f"{verb} {len(plan.paths)} entries ({output.format_size(freed)}), kept {len(plan.retained)} snapshots",
    )


def _collect_unused_stores(call: CommandCall, days: int, force: bool, dry_run: bool) -> Answer:
    try:
        current_codebase = open_codebase(call.path, call.environment)
    except GitindexError:  # run from anywhere: then no store is the current one
        current_codebase = None
    report = collect_stores(call.environment, current_codebase, days=days, force=force, dry_run=dry_run)
    data = {
        "status": "ok",
        "dry_run": dry_run,
        "removed": list(report.removed),
        "kept": list(report.kept),
        "busy": [asdict(store) for store in report.busy],
        "bytes_freed": report.bytes_freed,
    }
    verb = "would remove" if dry_run else "removed"
    lines = [f"{verb} {name}" for name in report.removed]
    lines += [f"kept {store.store_id}: {store.message}" for store in report.busy]
    lines.append(
        f"{verb} {output.pluralize(len(report.removed), 'store')} ({output.format_size(report.bytes_freed)})"
    )
    return Answer(data, "\n".join(lines))
