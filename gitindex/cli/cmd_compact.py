"""`gitindex compact`."""

from __future__ import annotations

from dataclasses import asdict

from gitindex.cli.command import Answer, CommandCall, command
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.compact_store import compact_store


@command("Merge all segments into one and drop dead rows.")
def run(call: CommandCall) -> Answer:
    report = compact_store(open_codebase(call.path, call.environment))
    if report is None:
        return Answer({"status": "ok", "noop": True}, "nothing to merge: one segment, no tombstones")
    text = (
        f"published {report.snapshot_id}: merged {report.segments_before} segments into {report.segments_after}, "
        f"removed {report.tombstones_before:,} tombstones"
    )
    return Answer({"status": "ok", "noop": False, **asdict(report)}, text)
