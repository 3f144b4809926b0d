"""`gitindex read`."""

from __future__ import annotations

import shlex
from typing import Any

import click

from gitindex.cli.command import Answer, Call, command
from gitindex.cli.reading import opened, reads, told
from gitindex.ops.read import read_file, split_range


@command("A file's text as indexed: PATH or PATH:FIRST-LAST.")
@click.argument("file")
@click.option("--worktree", is_flag=True, help="The text as it is now instead of as indexed.")
@reads
def run(call: Call, file: str, worktree: bool, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = opened(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    path, first, last = split_range(file)
    data = read_file(codebase, path, options, first=first, last=last, worktree=worktree)
    if data["status"] != "ok":
        return told(data, "")
    return Answer(data, _text(data), verbatim=True)


def _text(data: dict[str, Any]) -> str:
    """The file's own text, and what must be said of it on lines of their own."""
    mark = "\ufeff" if data["bom"] else ""
    text = mark + data["content"] + ("\n" if data["final_newline"] else "")
    said = "".join(f"{line}\n" for line in _remarks(data))
    return f"{text}\n{said}" if said and text and not text.endswith("\n") else text + said


def _remarks(data: dict[str, Any]) -> list[str]:
    said = []
    if data["worktree"] != "same":
        shown = "as indexed" if data["source"] == "index" else "as in the working tree"
        said.append(f"[{shown}; the working tree's file is {data['worktree']}]")
    if not data["exact"]:
        said.append("[put together from indexed chunks: white space may differ]")
    left = data["left_out"]
    if "characters" in left:
        more = f"line {data['end_line']} has {left['characters']:,} more characters"
        said.append(f"[{more}; raise query.max_answer_chars in .gitindex.toml]")
    if "lines" in left:
        rest = f"{data['path']}:{data['end_line'] + 1}-"
        said.append(f"[{left['lines']:,} lines left out; next: gitindex read {shlex.quote(rest)}]")
    return said
