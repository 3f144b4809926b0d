"""`gitindex callgraph`."""

from __future__ import annotations

import json

import click

from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import (
    add_read_options,
    open_for_reading,
    render_answer,
    render_comments,
    render_not_answered,
)
from gitindex.navigate import remarks
from gitindex.navigate.callgraph import CALLEES, CALLERS, MAX_DEPTH
from gitindex.navigate.diagram import FORMATS
from gitindex.ops.answers.answer_types import NotAnswered
from gitindex.ops.answers.structural_answers import call_graph

_COMMENT = {"mermaid": "%%", "dot": "//"}


@command("Who calls a definition, or what it calls.")
@click.argument("target")
@click.option("--direction", type=click.Choice([CALLERS, CALLEES]), default=CALLERS, show_default=True)
@click.option("--depth", type=click.IntRange(1, MAX_DEPTH), default=2, show_default=True)
@click.option("--format", "shape", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--notes", "note_limit", type=click.IntRange(0), default=remarks.LIMIT, show_default=True)
@add_read_options
def run(
    call: CommandCall,
    target: str,
    direction: str,
    depth: int,
    shape: str,
    note_limit: int,
    stale_ok: bool,
    catch_up: bool,
    debug: bool,
) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    answer = call_graph(
        codebase,
        target,
        options,
        direction=direction,
        depth=depth,
        shape="json" if call.as_json and shape == "text" else shape,
        note_limit=note_limit,
    )
    if shape == "json" and not call.as_json:
        data = answer.to_json()
        return Answer(data, json.dumps(data, ensure_ascii=False, indent=2))
    if isinstance(answer, NotAnswered):
        return render_not_answered(answer)
    if shape in _COMMENT:
        # It goes into a file: nothing but the drawing and comments.
        comments = render_comments(answer.basis, _COMMENT[shape])
        return Answer(answer.to_json(), "\n".join([answer.diagram, *comments]))
    return render_answer(answer, answer.diagram)
