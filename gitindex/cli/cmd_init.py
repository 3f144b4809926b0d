"""`gitindex init`."""

from __future__ import annotations

from gitindex.cli.cmd_sync import report_json, report_text
from gitindex.cli.command import Answer, Call, command
from gitindex.cli.progress import bar
from gitindex.ops.codebase import open_codebase
from gitindex.ops.sync import sync


@command("Index a codebase for the first time (or bring it up to date) and say what to do next.")
def run(call: Call) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    with bar(not call.as_json) as progress:
        report = sync(codebase, progress=progress)
    text = "\n".join(
        [
            f"root   {codebase.root}",
            f"store  {codebase.layout.base}",
            report_text(report),
            "",
            "next:",
            '  gitindex search "what you are looking for"',
            "  gitindex sync      after a change",
            "  gitindex status    is it fresh, complete and trusted?",
        ]
    )
    return Answer({**report_json(report), "root": str(codebase.root), "store_id": codebase.layout.id}, text)
