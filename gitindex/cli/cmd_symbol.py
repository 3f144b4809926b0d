"""`gitindex symbol`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer, render_left_out
from gitindex.ops.answers.answer_types import SymbolAnswer
from gitindex.ops.answers.structural_answers import find_symbol


@command("Definitions by name, qualified name (Outer.inner) or position (PATH:LINE:COL).")
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@add_read_options
def run(call: CommandCall, name: str, limit: int, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    answer = find_symbol(codebase, name, options, limit)
    rows = [
        (item.kind, f"{item.path}:{item.line}:{item.column}", item.signature or item.name)
        for item in answer.results
    ]
    message = output.single_line(answer.miss.message) if answer.miss else ""
    lines = [output.format_table(rows) or message, *_exact_fact_lines(answer)]
    lines += render_left_out(answer.basis, (answer.result_count - len(rows), "of the definitions"))
    return render_answer(answer, "\n".join(filter(None, lines)), miss=answer.miss)


def _exact_fact_lines(answer: SymbolAnswer) -> list[str]:
    """What the indexer says about the definition, and what implements it."""
    lines = [answer.hover.signature, answer.hover.documentation] if answer.hover else []
    rows = [
        (f"  {item.qualified_name}", f"{item.path}:{item.line}:{item.column}")
        for item in answer.implementations
    ]
    if rows:
        lines += ["implemented by:", output.format_table(rows)]
    return lines
