"""`gitindex imports`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer, render_not_answered
from gitindex.navigate.callgraph import MAX_DEPTH
from gitindex.navigate.file_imports import IMPORTERS, IMPORTS
from gitindex.ops.answers.answer_types import NotAnswered
from gitindex.ops.answers.structural_answers import import_graph


@command("Which files a file imports, or which import it.")
@click.argument("file")
@click.option("--direction", type=click.Choice([IMPORTS, IMPORTERS]), default=IMPORTS, show_default=True)
@click.option("--depth", type=click.IntRange(1, MAX_DEPTH), default=1, show_default=True)
@add_read_options
def run(
    call: CommandCall, file: str, direction: str, depth: int, stale_ok: bool, catch_up: bool, debug: bool
) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    answer = import_graph(codebase, file, options, direction=direction, depth=depth)
    if isinstance(answer, NotAnswered):
        return render_not_answered(answer)
    graph = answer.graph
    lines = [output.single_line(f"{edge.source}:{edge.line} → {edge.target}") for edge in graph.edges]
    lines += [output.single_line(f"outside: {', '.join(graph.external)}")] if graph.external else []
    if graph.left_out_edges:
        lines.append(f"not shown: {graph.left_out_edges:,} more imports; lower --depth")
    empty_text = (
        f"no imports of {graph.path} lead to indexed files"
        if direction == IMPORTS
        else f"no indexed file imports {graph.path}"
    )
    return render_answer(answer, "\n".join(lines) or output.single_line(empty_text))
