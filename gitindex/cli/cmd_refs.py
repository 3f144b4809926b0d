"""`gitindex refs`."""

from __future__ import annotations

from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer, render_left_out
from gitindex.navigate.references import LIMIT
from gitindex.ops.answers.structural_answers import find_references


@command("References to a name, or to what stands at PATH:LINE:COL.")
@click.argument("target")
@click.option("--limit", type=click.IntRange(1, 10_000), default=LIMIT, show_default=True)
@add_read_options
def run(call: CommandCall, target: str, limit: int, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    data = find_references(codebase, target, options, limit)
    return render_answer(data, _render_text(data), empty_is_fine="path" not in data)


def _render_text(data: dict[str, Any]) -> str:
    if data["status"] != "ok":
        return output.single_line(data["message"])
    lines = [
        output.single_line(f"{item['path']}:{item['line']}:{item['column']}  definition")
        for item in data["definitions"]
    ]
    lines += _reference_rows(data["references"])
    if data["candidates"]:
        lines += [
            "",
            f"{output.pluralize(data['unresolved_count'], 'occurrence')} where only the name agrees:",
        ]
        lines += _reference_rows(data["candidates"])
    left_out = render_left_out(
        data,
        (data.get("left_out", {}).get("definitions", 0), "of the definitions"),
        (data["reference_count"] - len(data["references"]), "of the references"),
        (data["unresolved_count"] - len(data["candidates"]), "of the occurrences where only the name agrees"),
    )
    return "\n".join([*lines, *left_out])


def _reference_rows(items: list[dict[str, Any]]) -> list[str]:
    rows = [
        (f"{item['path']}:{item['line']}:{item['column']}", item["role"], item["precision"], item["text"])
        for item in items
    ]
    return [output.format_table(rows)] if rows else []
