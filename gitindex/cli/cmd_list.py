"""`gitindex list`."""

from __future__ import annotations

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.ops.maintain.codebase_list import list_codebases


@command("List the codebases with an index on this machine.")
def run(call: CommandCall) -> Answer:
    data = list_codebases(call.environment)
    rows = [
        (
            entry["state"],
            (entry["indexed_commit"] or "-")[:12],
            output.format_number(entry["files"]),
            entry["root"] or f"unknown ({entry['store_id']})",
            "; ".join(entry["problems"]),
        )
        for entry in data["codebases"]
    ]
    return Answer(
        data,
        output.format_table(rows, ("STATE", "COMMIT", "FILES", "ROOT", "PROBLEMS"))
        if rows
        else "no codebases",
    )
