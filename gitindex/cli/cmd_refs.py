"""`gitindex refs`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer, render_left_out
from gitindex.navigate.references import LIMIT
from gitindex.ops.answers.answer_types import ReferencesAnswer
from gitindex.ops.answers.structural_answers import find_references


@command("References to a name, or to what stands at PATH:LINE:COL.")
@click.argument("target")
@click.option("--limit", type=click.IntRange(1, 10_000), default=LIMIT, show_default=True)
@add_read_options
def run(call: CommandCall, target: str, limit: int, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    answer = find_references(codebase, target, options, limit)
    return render_answer(answer, _render_text(answer), miss=answer.miss)


def _render_text(answer: ReferencesAnswer) -> str:
    if answer.miss is not None:
        return output.single_line(answer.miss.message)
    occurrences = answer.reference_list
    lines = [
        output.single_line(f"{item.path}:{item.line}:{item.column}  definition")
        for item in occurrences.definitions
    ]
    references, candidates = (
        [(f"{item.path}:{item.line}:{item.column}", item.role, item.precision, item.text) for item in items]
        for items in (occurrences.references, occurrences.candidates)
    )
    lines += [output.format_table(references)] if references else []
    if candidates:
        count = output.pluralize(occurrences.unresolved_count, "occurrence")
        lines += ["", f"{count} where only the name agrees:", output.format_table(candidates)]
    left_out = render_left_out(
        answer.basis,
        (answer.basis.left_out.get("definitions", 0), "of the definitions"),
        (occurrences.reference_count - len(occurrences.references), "of the references"),
        (
            occurrences.unresolved_count - len(occurrences.candidates),
            "of the occurrences where only the name agrees",
        ),
    )
    return "\n".join([*lines, *left_out])
