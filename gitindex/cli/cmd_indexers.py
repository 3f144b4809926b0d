"""`gitindex indexers`."""

from __future__ import annotations

from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.errors import UsageError
from gitindex.ops.exact import indexer_tools


@command("List exact indexers (list), or install those that can be pinned (install NAME…).")
@click.argument("action", type=click.Choice(["list", "install"]), default="list")
@click.argument("names", nargs=-1)
def run(call: CommandCall, action: str, names: tuple[str, ...]) -> Answer:
    if action == "install":
        if not names:
            raise UsageError("name at least one indexer", hint="gitindex indexers install python typescript")
        data = indexer_tools.install(call.environment, names)
        return Answer(data, f"installed {', '.join(data['installed'])}\n\n{_indexer_table(data)}")
    data = indexer_tools.list_indexers(call.environment)
    return Answer(data, _indexer_table(data))


def _indexer_table(data: dict[str, Any]) -> str:
    rows = [
        (
            item["name"],
            item["language"],
            item["version"] or ("?" if item["installed"] else "-"),
            item["source"] or item["how_to_get"],
            "runs project code" if item["runs_project_code"] else "",
        )
        for item in data["indexers"]
    ]
    return output.format_table(rows, ("indexer", "language", "version", "from", ""))
