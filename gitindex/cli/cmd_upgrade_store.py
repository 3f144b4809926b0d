"""`gitindex upgrade-store`."""

from __future__ import annotations

from gitindex.cli.cmd_sync import report_json, report_text
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.progress_bar import progress_bar
from gitindex.model import versions
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.store_inventory import upgrade


@command(
    "Upgrade the store to this release's formats; the last good snapshot stays active until that is done."
)
def run(call: CommandCall) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    with progress_bar(not call.as_json) as progress:
        outcome, report = upgrade(codebase, progress)
    data = {"status": "ok", "outcome": outcome, "versions": versions.stored_versions()}
    if report is None:
        return Answer(data, "the store has this release's formats")
    return Answer({**data, "sync": report_json(report)}, f"reindexed\n{report_text(report)}")
