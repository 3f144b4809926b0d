"""`gitindex outline`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer
from gitindex.navigate.outline import render_text as outline_text
from gitindex.ops.answers.structural_answers import outline


@command("The definitions of one file, nested as written.")
@click.argument("file")
@add_read_options
def run(call: CommandCall, file: str, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    data = outline(codebase, file, options)
    lines = outline_text(data.get("symbols", []))
    empty = output.single_line(f"{data['path']} defines nothing") if data["status"] == "ok" else ""
    return render_answer(data, "\n".join(lines) or empty)
