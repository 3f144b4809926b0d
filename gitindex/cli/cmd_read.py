"""`gitindex read`."""

from __future__ import annotations

from typing import Any

import click

from gitindex.cli.command import Answer, Call, command
from gitindex.cli.read_options import opened, reads, told
from gitindex.ops.answers.file_text import read_file, split_range


@command("A file's text as indexed: PATH or PATH:FIRST-LAST.")
@click.argument("file")
@click.option("--worktree", is_flag=True, help="The text as it is now instead of as indexed.")
@reads
def run(call: Call, file: str, worktree: bool, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = opened(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    path, first, last = split_range(file)
    data = read_file(
        codebase, path, options, first=first, last=last, worktree=worktree, whole=not call.as_json
    )
    if data["status"] != "ok":
        return told(data, "")
    mark = "\ufeff" if data["bom"] else ""
    text = mark + data["content"] + ("\n" if data["final_newline"] else "")
    return Answer(data, text, verbatim=True, aside="\n".join(_remarks(data)))


def _remarks(data: dict[str, Any]) -> list[str]:
    """What must be said of the text, and is not part of it."""
    said = []
    if data["worktree"] != "same" and data["source"] == "index":
        said.append(f"[as indexed; the working tree's file is {data['worktree']}]")
    if not data["exact"]:
        said.append("[put together from indexed chunks: white space may differ]")
    if data.get("sync_skipped"):
        said.append(f"[{data['sync_skipped']}]")
    return said
