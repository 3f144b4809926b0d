"""`gitindex symbol`."""

from __future__ import annotations

from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.cli.read_options import opened, reads, told, unshown
from gitindex.ops.answers.structural_answers import find_symbol


@command("Definitions by name, qualified name (Outer.inner) or position (PATH:LINE:COL).")
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@reads
def run(call: Call, name: str, limit: int, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = opened(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    data = find_symbol(codebase, name, options, limit)
    rows = [
        (item["kind"], f"{item['path']}:{item['line']}:{item['column']}", item["signature"] or item["name"])
        for item in data["results"]
    ]
    lines = [output.table(rows) or ("" if data.get("hover") else data.get("message", "")), *_said(data)]
    lines += unshown(data, (data["result_count"] - len(rows), "of the definitions"))
    return told(data, "\n".join(filter(None, lines)), empty_is_fine="path" not in data)


def _said(data: dict[str, Any]) -> list[str]:
    """What the indexer says of it, and what implements it."""
    hover = data.get("hover") or {}
    lines = [hover.get("signature", ""), hover.get("documentation", "")]
    rows = [
        (f"  {item['qualified_name']}", f"{item['path']}:{item['line']}:{item['column']}")
        for item in data.get("implementations", ())
    ]
    if rows:
        lines += ["implemented by:", output.table(rows)]
    return lines
