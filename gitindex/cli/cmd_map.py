"""`gitindex map`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer, render_not_answered
from gitindex.navigate.repomap import DEFAULT_TOKENS
from gitindex.ops.answers.answer_types import NotAnswered
from gitindex.ops.answers.structural_answers import MAX_TOKENS, repo_map


@command("The definitions that the codebase leans on most, within a token budget.")
@click.option("--tokens", type=click.IntRange(1, MAX_TOKENS), default=DEFAULT_TOKENS, show_default=True)
@click.option("--focus", multiple=True, metavar="FILE", help="Draw the map towards what this file uses.")
@add_read_options
def run(
    call: CommandCall, tokens: int, focus: tuple[str, ...], stale_ok: bool, catch_up: bool, debug: bool
) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    answer = repo_map(codebase, options, tokens=tokens, focus=focus)
    if isinstance(answer, NotAnswered):
        return render_not_answered(answer)
    omitted = answer.map.omitted
    symbols, files = output.pluralize(omitted.symbols, "symbol"), output.pluralize(omitted.files, "file")
    rest = f"\n({symbols} more, {files} not shown)" if answer.basis.truncated else ""
    return render_answer(answer, answer.map.text + rest)
