"""`index_state.json`: the lifecycle state of a store (EN-6). Can be rebuilt from the manifests."""

from __future__ import annotations

import json
import os
import stat
import time
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from gitindex.model import versions
from gitindex.model.frozen import field, frozen
from gitindex.model.manifest import Manifest
from gitindex.store import atomic, sealed_json
from gitindex.store.layout import Layout

TOUCH_INTERVAL = 3600.0  # seconds
_TOUCH_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@frozen
class IndexingProgress:
    """Progress of a create or forced reindex."""

    progress_pct: float | None = None
    phase: str | None = None
    last_updated: str | None = None


@frozen
class StoreState:
    """The content of `index_state.json`."""

    store_id: str
    canonical_root: str
    config_fingerprint: str
    created_at: str
    mode: str = "single"  # single | shared (ST-3); never changes
    repository: tuple[str, ...] = ()  # root commits, by which siblings are found (ST-4)
    common_dir: str = ""
    ignore_fingerprint: str = ""
    active_snapshot_id: str | None = None
    git: dict[str, Any] = field(default_factory=dict)
    last_sync_at: str | None = None
    last_result: str = "never"
    state: str = "not_found"  # not_found | indexing | indexed | sync_completed | indexfailed
    indexing: IndexingProgress | None = None


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def read(layout: Layout) -> StoreState | None:
    """None when missing or unreadable: everything in it can be rebuilt from the manifests.

    Raises IncompatibleVersion for a newer schema.
    """
    try:
        data = json.loads(layout.state.read_bytes())
        versions.check("index_state", data.get("schema_version"), str(layout.state))
        data = sealed_json.verify_seal(data)
        del data["schema_version"]
        indexing = data.pop("indexing", None)
        data["repository"] = tuple(data["repository"])
        return StoreState(indexing=IndexingProgress(**indexing) if indexing else None, **data)
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError, AttributeError):
        return None


def write(layout: Layout, state: StoreState) -> None:
    sealed_json.write(
        layout.state, {"schema_version": versions.MATRIX["index_state"].current, **asdict(state)}
    )


def apply_publish(state: StoreState, manifest: Manifest) -> StoreState:
    """The state after `manifest` became active."""
    return replace(
        state,
        ignore_fingerprint=manifest.ignore_fingerprint,
        active_snapshot_id=manifest.snapshot_id,
        git={
            "last_head_sha": manifest.git.head_sha,
            "dirty": manifest.git.dirty,
            "untracked_included": manifest.git.untracked_included,
        },
        last_sync_at=manifest.created_at,
        last_result="degraded" if manifest.degraded else "ok",
        state="indexed" if manifest.parent_snapshot_id is None else "sync_completed",
        indexing=None,
    )


def touch_last_used(layout: Layout) -> None:
    """Set the time of last use to now, at most hourly (ST-5). Does nothing where this user may not write."""
    try:
        if time.time() - layout.last_used.lstat().st_mtime < TOUCH_INTERVAL:
            return
    except FileNotFoundError:
        pass
    try:
        # The same users as for the stores. Never follow a link: others may write to a shared home.
        mode = stat.S_IMODE(layout.base.parent.stat().st_mode) & 0o770
        atomic.make_private_folder(layout.last_used.parent, mode)
        descriptor = os.open(layout.last_used, _TOUCH_FLAGS, mode & 0o660)
    except OSError:
        return
    with suppress(OSError):
        os.utime(descriptor)
        os.fchmod(descriptor, mode & 0o660)  # whatever the umask; fails when another user made the file
    os.close(descriptor)


def last_used(layout: Layout) -> float:
    """The time of last use, in seconds since the epoch."""
    for path in (layout.last_used, layout.state, layout.base):
        try:
            return path.lstat().st_mtime
        except FileNotFoundError:
            continue
    return 0.0
