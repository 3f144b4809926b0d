"""`gitindex stores`."""

from __future__ import annotations

from dataclasses import asdict

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.ops.maintain.store_inventory import list_stores


@command("List every store on this machine with its size and last use.")
def run(call: CommandCall) -> Answer:
    stores = list_stores(call.environment)
    rows = [
        (
            info.store_id,
            output.format_size(info.size_bytes),
            info.last_used_at[:10],
            info.problem or info.canonical_root,
        )
        for info in stores
    ]
    text = output.format_table(rows, ("STORE", "SIZE", "USED", "ROOT")) if rows else "no stores"
    total = sum(info.size_bytes for info in stores)
    return Answer({"status": "ok", "stores": [asdict(info) for info in stores], "size_bytes": total}, text)
