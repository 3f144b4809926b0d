"""`gitindex refs`."""

from __future__ import annotations

from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.cli.read_options import opened, reads, told, unshown
from gitindex.navigate.references import LIMIT
from gitindex.ops.answers.structural_answers import find_references


@command("References to a name, or to what stands at PATH:LINE:COL.")
@click.argument("target")
@click.option("--limit", type=click.IntRange(1, 10_000), default=LIMIT, show_default=True)
@reads
def run(call: Call, target: str, limit: int, stale_ok: bool, catch_up: bool, debug: bool) -> Answer:
    codebase, options = opened(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    data = find_references(codebase, target, options, limit)
    return told(data, _text(data), empty_is_fine="path" not in data)


def _text(data: dict[str, Any]) -> str:
    if data["status"] != "ok":
        return output.name(data["message"])
    lines = [
        output.name(f"{item['path']}:{item['line']}:{item['column']}  definition")
        for item in data["definitions"]
    ]
    lines += _rows(data["references"])
    if data["candidates"]:
        lines += ["", f"{output.plural(data['unresolved_count'], 'occurrence')} where only the name agrees:"]
        lines += _rows(data["candidates"])
    missing = unshown(
        data,
        (data.get("left_out", {}).get("definitions", 0), "of the definitions"),
        (data["reference_count"] - len(data["references"]), "of the references"),
        (data["unresolved_count"] - len(data["candidates"]), "of the occurrences where only the name agrees"),
    )
    return "\n".join([*lines, *missing])


def _rows(items: list[dict[str, Any]]) -> list[str]:
    rows = [
        (f"{item['path']}:{item['line']}:{item['column']}", item["role"], item["precision"], item["text"])
        for item in items
    ]
    return [output.table(rows)] if rows else []
