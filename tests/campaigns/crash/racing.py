"""Processes for the concurrency test: writers, readers and a collector on one store, until a deadline."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import gitindex.ops.syncing.sync_locked  # noqa: F401 - a sync loads it late, a race must not wait for that
from gitindex.errors import LeaseHeld
from gitindex.lifecycle import check, compact, gc
from gitindex.lifecycle.digest import compute_digest
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.view.snapshot import open_active
from tests.support import harness


def write_once(root: Path, home: Path) -> str:
    report = sync(harness.codebase(root, home), SyncOptions(workers=1, lease_wait=0.5))
    return "noop" if report.noop else "published"


def read_once(root: Path, home: Path) -> str:
    """One pinned view must agree with itself from the first row to the last, whatever is published meanwhile."""
    view = open_active(harness.codebase(root, home).layout)
    if view is None:
        return "none"
    with view:
        first = compute_digest(view)
        assert check.inspect(view, first) == [], check.inspect(view, first)
        assert compute_digest(view) == first
    return "read"


def collect_once(root: Path, home: Path) -> str:
    layout = harness.codebase(root, home).layout
    if not layout.active_pointer.exists():
        return "none"
    gc.collect(layout, wait=0.2, now=harness.LATER)
    compact.compact(layout, wait=0.2)
    return "collected"


def main() -> None:
    role, root, home, seconds = sys.argv[1:]
    act = {"write": write_once, "read": read_once, "gc": collect_once}[role]
    counts: dict[str, int] = {}
    deadline = time.monotonic() + float(seconds)
    while time.monotonic() < deadline:
        try:
            outcome = act(Path(root), Path(home))
        except LeaseHeld:
            outcome = "busy"
        counts[outcome] = counts.get(outcome, 0) + 1
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()
