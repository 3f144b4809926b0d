"""`gitindex stats`."""

from __future__ import annotations

from typing import Any

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.stats import stats


@command("Report index size, dead rows, publish times, and what compaction would save.")
def run(call: CommandCall) -> Answer:
    statistics = stats(open_codebase(call.path, call.environment))
    return Answer(statistics, _render_text(statistics))


def _render_text(statistics: dict[str, Any]) -> str:
    sizes = statistics["bytes"]
    rows = [
        (name, output.format_size(sizes[name])) for name in ("text", "tables", "facts", "lexical", "total")
    ]
    rows += [
        ("index / text", str(statistics["ratio"])),
        ("segments", f"{statistics['segments']}  ({statistics['tombstones']:,} tombstones)"),
        ("rows", f"{statistics['rows']['live']:,} live, {statistics['rows']['dead']:,} dead"),
        ("compaction saves", output.format_size(statistics["compaction"]["bytes_saved"])),
        ("snapshots", str(statistics["snapshots"])),
        ("embedder", statistics["embedding"]["identity"]),
        ("vectors", _format_vectors(statistics["embedding"])),
    ]
    rows += [
        (f"last publish: {name}", f"{value:,} ms") for name, value in statistics["last_publish_ms"].items()
    ]
    return output.format_table(rows)


def _format_vectors(embedding: dict[str, Any]) -> str:
    rate = f", hit rate {embedding['hit_rate']:.0%}" if embedding["hit_rate"] is not None else ""
    return f"{embedding['embedded']:,} computed, {embedding['reused']:,} reused{rate}"
