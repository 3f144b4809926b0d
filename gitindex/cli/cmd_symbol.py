"""`gitindex symbol`."""

from __future__ import annotations

from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.read_options import add_read_options, open_for_reading, render_answer, render_left_out
from gitindex.ops.answers.structural_answers import find_symbol


@command("Definitions by name, qualified name (Outer.inner) or position (PATH:LINE:COL).")
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@add_read_options
def run(call: CommandCall, name: str, limit: int, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = open_for_reading(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    data = find_symbol(codebase, name, options, limit)
    rows = [
        (item["kind"], f"{item['path']}:{item['line']}:{item['column']}", item["signature"] or item["name"])
        for item in data["results"]
    ]
    lines = [
        output.format_table(rows) or ("" if data.get("hover") else data.get("message", "")),
        *_hover_lines(data),
    ]
    lines += render_left_out(data, (data["result_count"] - len(rows), "of the definitions"))
    return render_answer(data, "\n".join(filter(None, lines)), empty_is_fine="path" not in data)


def _hover_lines(data: dict[str, Any]) -> list[str]:
    """What the indexer says of it, and what implements it."""
    hover = data.get("hover") or {}
    lines = [hover.get("signature", ""), hover.get("documentation", "")]
    rows = [
        (f"  {item['qualified_name']}", f"{item['path']}:{item['line']}:{item['column']}")
        for item in data.get("implementations", ())
    ]
    if rows:
        lines += ["implemented by:", output.format_table(rows)]
    return lines
