"""`gitindex state`."""

from __future__ import annotations

from dataclasses import replace

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer
from gitindex.ops.exact.edit_gate import FileStatesAnswer, read_file_states


@command("Report whether the index is fresh enough to edit these files safely.")
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--decide",
    default="",
    metavar="TEXT",
    help="Record a decision about an ambiguity; it holds for this HEAD and this content.",
)
@click.option("--proof", default="", metavar="TEXT", help="Evidence for the decision.")
@add_read_options
def run(
    call: CommandCall,
    paths: tuple[str, ...],
    decide: str,
    proof: str,
    stale_ok: bool,
    catch_up: bool,
    debug: bool,
) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    states = read_file_states(codebase, paths, options, decide=decide, proof=proof)
    answer = render_answer(states, _render_text(states))
    return replace(answer, exit_code=0 if states.gate == "allowed" else 1)


def _render_text(answer: FileStatesAnswer) -> str:
    rows = [(item.path, item.freshness, item.certainty, ", ".join(item.ambiguity)) for item in answer.files]
    lines = [output.format_table(rows), f"gate: {answer.gate}"]
    for item in answer.witnesses:
        lines += [output.single_line(f"  {item.path}: {item.reason}"), f"    next: {item.command}"]
    if answer.ambiguous and answer.gate == "needs_decision":
        lines.append('  next: gitindex state PATH… --decide "…" --proof "…"')
    return "\n".join(lines)
