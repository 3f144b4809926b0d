"""Records when a snapshot stopped being the active one (SN-9); retention counts from then, not from its creation.

The writer writes the record right before it moves the pointer. Without a readable record, callers use the creation time
of the successor, and gc writes a new record.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict

from gitindex.model.moment import Moment
from gitindex.store import atomic
from gitindex.store.layout import Layout


def record_replaced_at(layout: Layout, snapshot_id: str, moment: Moment) -> None:
    """Write the record, without fsync: after a crash of the machine no reader is left. Callers hold the lease."""
    with suppress(FileNotFoundError):  # the pointer led to a snapshot that is gone
        data = json.dumps(asdict(moment)).encode()
        atomic.write_bytes(layout.replaced_record(snapshot_id), data, durable=False)


def read_replaced_at(layout: Layout, snapshot_id: str) -> Moment | None:
    try:
        moment = Moment(**json.loads(layout.replaced_record(snapshot_id).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    numbers = (moment.wall_ms, moment.boot_ms)
    return moment if isinstance(moment.boot, str) and all(type(number) is int for number in numbers) else None
