"""`gitindex outline`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer, render_not_answered
from gitindex.navigate.outline import render_text
from gitindex.ops.answers.answer_types import NotAnswered
from gitindex.ops.answers.structural_answers import outline


@command("The definitions of one file, nested as written.")
@click.argument("file")
@add_read_options
def run(call: CommandCall, file: str, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    answer = outline(codebase, file, options)
    if isinstance(answer, NotAnswered):
        return render_not_answered(answer)
    empty = answer.message or f"{answer.path} defines nothing"
    return render_answer(answer, "\n".join(render_text(answer.symbols)) or output.single_line(empty))
