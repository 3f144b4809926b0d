"""`gitindex explore`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, WordsCommand, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer
from gitindex.ops.answers.exploration import (
    DEFAULT_TOKENS,
    MAX_TOKENS,
    MIN_TOKENS,
    ExploreAnswer,
    ExploredDefinition,
    ExploredPassage,
    explore,
)

HELP = """Answer a question in one call, within a token budget.

QUESTION is anything that `search` takes, a pasted issue or traceback too. The answer lists the files that matter, shows
the best passage of each, and the callers of what these define; what did not fit is counted.
"""


@command(HELP, cls=WordsCommand)
@click.argument("words", metavar="QUESTION", nargs=-1, required=True)
@click.option(
    "--tokens",
    type=click.IntRange(MIN_TOKENS, MAX_TOKENS),
    default=DEFAULT_TOKENS,
    show_default=True,
    help="Size of the answer, as four characters each.",
)
@add_read_options
def run(
    call: CommandCall, words: tuple[str, ...], tokens: int, stale_ok: bool, catch_up: bool, debug: bool
) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    answer = explore(codebase, " ".join(words), options, tokens=tokens)
    return render_answer(answer, _render_text(answer))


def _render_text(answer: ExploreAnswer) -> str:
    files = [output.single_line(f"{file.path}:{file.lines[0]}") for file in answer.files]
    blocks = ["\n".join(files) or "nothing found"]
    blocks += map(_render_passage, answer.passages)
    blocks += [_render_callers(item) for item in answer.definitions if item.callers]
    blocks += [output.single_line(f"note: {note}") for note in answer.notes]
    left_out = answer.basis.left_out
    if left_out:
        at_least = "at least " if answer.left_out_at_least else ""
        counts = f"{left_out.get('files', 0):,} files, {left_out.get('passages', 0):,} passages"
        blocks.append(f"left out: {at_least}{counts}; raise --tokens or narrow the question")
    return "\n\n".join(blocks)


def _render_passage(passage: ExploredPassage) -> str:
    symbol_label = f"  {passage.symbol}" if passage.symbol else ""
    return output.single_line(f"{passage.path}:{passage.line}{symbol_label}") + "\n" + passage.text


def _render_callers(item: ExploredDefinition) -> str:
    lines = [output.single_line(f"callers of {item.symbol}")]
    lines += [
        output.single_line(f"  {caller.path}:{caller.line} {caller.symbol}".rstrip())
        for caller in item.callers
    ]
    return "\n".join(lines + ([f"  and {item.callers_left_out:,} more"] if item.callers_left_out else []))
