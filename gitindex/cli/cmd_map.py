"""`gitindex map`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.cli.read_options import opened, reads, told
from gitindex.navigate.repomap import DEFAULT_TOKENS
from gitindex.ops.answers.structural_answers import MAX_TOKENS, repo_map


@command("The definitions that the codebase leans on most, within a token budget.")
@click.option("--tokens", type=click.IntRange(1, MAX_TOKENS), default=DEFAULT_TOKENS, show_default=True)
@click.option("--focus", multiple=True, metavar="FILE", help="Draw the map towards what this file uses.")
@reads
def run(
    call: Call, tokens: int, focus: tuple[str, ...], stale_ok: bool, catch_up: bool, debug: bool
) -> Answer:
    codebase, options = opened(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    data = repo_map(codebase, options, tokens=tokens, focus=focus)
    if data["status"] != "ok":
        return told(data, "")
    left = data["omitted"]
    rest = f"\n({output.plural(left['symbols'], 'symbol')} more, {output.plural(left['files'], 'file')} not shown)"
    return told(data, data["map"] + (rest if data["truncated"] else ""))
