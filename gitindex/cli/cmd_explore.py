"""`gitindex explore`."""

from __future__ import annotations

import click

from gitindex.cli.command import Answer, Call, WordsCommand, command
from gitindex.cli.reading import opened, reads, told
from gitindex.ops.explore import DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS, explore, show_exploration

HELP = """Answer a question in one go, within a token budget.

QUESTION is anything that `search` takes, a pasted issue or traceback too. The answer lists the files that matter, shows
the best passage of each as far as the budget reaches, and who calls what these define; what did not fit is counted.
"""


@command(HELP, cls=WordsCommand)
@click.argument("words", metavar="QUESTION", nargs=-1, required=True)
@click.option(
    "--tokens", type=click.IntRange(MIN_TOKENS, MAX_TOKENS), default=DEFAULT_TOKENS, show_default=True
)
@reads
def run(
    call: Call, words: tuple[str, ...], tokens: int, stale_ok: bool, catch_up: bool, debug: bool
) -> Answer:
    codebase, options = opened(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    data = explore(codebase, " ".join(words), options, tokens=tokens)
    return told(data, show_exploration(data))
