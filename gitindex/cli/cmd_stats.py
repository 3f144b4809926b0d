"""`gitindex stats`."""

from __future__ import annotations

from typing import Any

from gitindex import gate
from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.stats import stats


@command("Where the bytes and the milliseconds go, and what compaction would save.")
def run(call: Call) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    with gate.open_gated(codebase) as view:
        found = stats(codebase, view)
    return Answer(found, _text(found))


def _text(found: dict[str, Any]) -> str:
    sizes = found["bytes"]
    rows = [(name, output.size(sizes[name])) for name in ("text", "tables", "facts", "lexical", "total")]
    rows += [
        ("index / text", str(found["ratio"])),
        ("segments", f"{found['segments']}  ({found['tombstones']:,} tombstones)"),
        ("rows", f"{found['rows']['live']:,} live, {found['rows']['dead']:,} dead"),
        ("compaction saves", output.size(found["compaction"]["bytes_saved"])),
        ("snapshots", str(found["snapshots"])),
        ("embedder", found["embedding"]["identity"]),
        ("vectors", _vectors(found["embedding"])),
    ]
    rows += [(f"last publish: {name}", f"{value:,} ms") for name, value in found["last_publish_ms"].items()]
    return output.table(rows)


def _vectors(embedding: dict[str, Any]) -> str:
    rate = f", hit rate {embedding['hit_rate']:.0%}" if embedding["hit_rate"] is not None else ""
    return f"{embedding['embedded']:,} computed, {embedding['reused']:,} reused{rate}"
