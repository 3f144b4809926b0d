"""`gitindex read`."""

from __future__ import annotations

import click

from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_not_answered
from gitindex.ops.answers.answer_types import FileTextAnswer, NotAnswered
from gitindex.ops.answers.file_text import read_file, split_range


@command("A file's text as indexed: PATH or PATH:FIRST-LAST.")
@click.argument("file")
@click.option("--worktree", is_flag=True, help="The text as it is now instead of as indexed.")
@add_read_options
def run(call: CommandCall, file: str, worktree: bool, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    path, first, last = split_range(file)
    answer = read_file(
        codebase, path, options, first=first, last=last, worktree=worktree, whole=not call.as_json
    )
    if isinstance(answer, NotAnswered):
        return render_not_answered(answer)
    bom = "\ufeff" if answer.bom else ""
    text = bom + answer.content + ("\n" if answer.final_newline else "")
    return Answer(answer.to_json(), text, verbatim=True, remarks="\n".join(_remark_lines(answer)))


def _remark_lines(answer: FileTextAnswer) -> list[str]:
    """What must be said about the text and is not part of it."""
    remarks = []
    if answer.worktree != "same" and answer.source == "index":
        remarks.append(f"[as indexed; the working tree's file is {answer.worktree}]")
    if not answer.exact:
        remarks.append("[put together from indexed chunks: white space may differ]")
    if answer.basis.sync_skipped:
        remarks.append(f"[{answer.basis.sync_skipped}]")
    return remarks
