"""`gitindex imports`."""

from __future__ import annotations

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.cli.read_options import opened, reads, told
from gitindex.navigate.callgraph import MAX_DEPTH
from gitindex.navigate.file_imports import IMPORTERS, IMPORTS
from gitindex.ops.answers.structural_answers import import_graph


@command("Which files a file imports, or which import it.")
@click.argument("file")
@click.option("--direction", type=click.Choice([IMPORTS, IMPORTERS]), default=IMPORTS, show_default=True)
@click.option("--depth", type=click.IntRange(1, MAX_DEPTH), default=1, show_default=True)
@reads
def run(
    call: Call, file: str, direction: str, depth: int, stale_ok: bool, catch_up: bool, debug: bool
) -> Answer:
    codebase, options = opened(call, stale_ok=stale_ok, catch_up=catch_up, debug=debug)
    data = import_graph(codebase, file, options, direction=direction, depth=depth)
    if data["status"] != "ok":
        return told(data, "")
    lines = [output.name(f"{edge['from']}:{edge['line']} → {edge['to']}") for edge in data["edges"]]
    lines += [output.name(f"outside: {', '.join(data['external'])}")] if data["external"] else []
    if data["leftOutEdges"]:
        lines.append(f"not shown: {data['leftOutEdges']:,} more imports; lower --depth")
    nothing = (
        f"no imports of {data['path']} lead to indexed files"
        if direction == IMPORTS
        else f"no indexed file imports {data['path']}"
    )
    return told(data, "\n".join(lines) or output.name(nothing))
