"""`gitindex slice`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer, render_not_answered
from gitindex.errors import UsageError
from gitindex.navigate.slice import BACKWARD, BOTH, FORWARD
from gitindex.ops.answers.answer_types import NotAnswered
from gitindex.ops.answers.file_text import split_range
from gitindex.ops.answers.structural_answers import slice_variable


@command("What a variable's value at PATH:LINE depends on, or what depends on it.")
@click.argument("place", metavar="PATH:LINE")
@click.argument("name")
@click.option(
    "--direction", type=click.Choice([BACKWARD, FORWARD, BOTH]), default=BACKWARD, show_default=True
)
@add_read_options
def run(
    call: CommandCall, place: str, name: str, direction: str, stale_ok: bool, catch_up: bool, debug: bool
) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    path, line, _ = split_range(place)
    if path == place:
        raise UsageError(f"not a position: {place!r}", hint="gitindex slice PATH:LINE NAME")
    answer = slice_variable(codebase, path, line, name, options, direction=direction)
    if isinstance(answer, NotAnswered):
        return render_not_answered(answer)
    lines = [f"{item.line:>5}  {item.text}" for item in answer.slice.lines]
    return render_answer(answer, "\n".join(lines) or output.single_line(answer.message))
