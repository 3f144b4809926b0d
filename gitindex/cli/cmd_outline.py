"""`gitindex outline`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.cli.read_options import opened, reads, told
from gitindex.navigate.outline import render_text as outline_text
from gitindex.ops.answers.structural_answers import outline


@command("The definitions of one file, nested as written.")
@click.argument("file")
@reads
def run(call: Call, file: str, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = opened(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    data = outline(codebase, file, options)
    lines = outline_text(data.get("symbols", []))
    empty = output.name(f"{data['path']} defines nothing") if data["status"] == "ok" else ""
    return told(data, "\n".join(lines) or empty)
