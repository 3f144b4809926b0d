"""`gitindex read`."""

from __future__ import annotations

from typing import Any

import click

from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer
from gitindex.ops.answers.file_text import read_file, split_range


@command("A file's text as indexed: PATH or PATH:FIRST-LAST.")
@click.argument("file")
@click.option("--worktree", is_flag=True, help="The text as it is now instead of as indexed.")
@add_read_options
def run(call: CommandCall, file: str, worktree: bool, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    path, first, last = split_range(file)
    data = read_file(
        codebase, path, options, first=first, last=last, worktree=worktree, whole=not call.as_json
    )
    if data["status"] != "ok":
        return render_answer(data, "")
    bom = "\ufeff" if data["bom"] else ""
    text = bom + data["content"] + ("\n" if data["final_newline"] else "")
    return Answer(data, text, verbatim=True, remarks="\n".join(_remark_lines(data)))


def _remark_lines(data: dict[str, Any]) -> list[str]:
    """What must be said of the text, and is not part of it."""
    remarks = []
    if data["worktree"] != "same" and data["source"] == "index":
        remarks.append(f"[as indexed; the working tree's file is {data['worktree']}]")
    if not data["exact"]:
        remarks.append("[put together from indexed chunks: white space may differ]")
    if data.get("sync_skipped"):
        remarks.append(f"[{data['sync_skipped']}]")
    return remarks
