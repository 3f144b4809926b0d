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
            store.store_id,
            output.format_size(store.size_bytes),
            store.last_used_at[:10],
            store.problem or store.canonical_root,
        )
        for store in stores
    ]
    text = output.format_table(rows, ("STORE", "SIZE", "USED", "ROOT")) if rows else "no stores"
    total = sum(store.size_bytes for store in stores)
    return Answer({"status": "ok", "stores": [asdict(store) for store in stores], "size_bytes": total}, text)
