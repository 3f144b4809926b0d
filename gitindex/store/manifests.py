"""Reads and writes manifests, and the pointer to the active one (SN-4, SN-11)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gitindex.errors import IncompatibleVersion, IntegrityError, LeaseLost, StoreCorrupt
from gitindex.model import manifest as manifest_model
from gitindex.model import versions
from gitindex.model.ids import creation_ms, ulid
from gitindex.model.manifest import Manifest
from gitindex.store import atomic, clock, replaced, sealed_json, state_file
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout

_SNAPSHOT_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


def read(layout: Layout, snapshot_id: str) -> Manifest:
    """Raises StoreCorrupt or IncompatibleVersion."""
    path = layout.manifest(snapshot_id)
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise StoreCorrupt(f"manifest {path} is missing", hint="gitindex repair") from None
    except ValueError as error:
        raise StoreCorrupt(f"manifest {path} is not JSON: {error}", hint="gitindex repair") from error
    manifest = manifest_model.from_json(data, str(path))
    try:  # after the version check: another release may compute the seal differently
        sealed_json.verify_seal(data)
    except ValueError as error:
        raise StoreCorrupt(f"manifest {path} {error}", hint="gitindex repair") from error
    if manifest.snapshot_id != snapshot_id:
        raise StoreCorrupt(
            f"manifest {path} describes snapshot {manifest.snapshot_id}", hint="gitindex repair"
        )
    return manifest


def write(layout: Layout, manifest: Manifest) -> Path:
    path = layout.manifest(manifest.snapshot_id)
    sealed_json.write(path, manifest.to_json())
    atomic.sync_directory(layout.snapshots)
    return path


def list_ids(layout: Layout) -> list[str]:
    """Snapshot ids on disk, newest first."""
    if not layout.snapshots.is_dir():
        return []
    return sorted(
        (entry.name for entry in layout.snapshots.iterdir() if _SNAPSHOT_ID.fullmatch(entry.name)),
        reverse=True,
    )


def next_id(layout: Layout, proposed: str) -> str:
    """`proposed` if it is above every snapshot id of the store, else a new id that is (LE-3).

    The clock may be behind, or another writer may have published since `proposed` was made. Callers hold the lease,
    else a higher id could be taken meanwhile.
    """
    newest = max(list_ids(layout), default="")
    return proposed if proposed > newest else ulid(creation_ms(newest) + 1)


def read_active_id(layout: Layout) -> str | None:
    """The snapshot id in the pointer file; None when the file is missing or malformed."""
    try:
        text = layout.active_pointer.read_text("ascii").strip()
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return None
    return text if _SNAPSHOT_ID.fullmatch(text) else None


def read_active(layout: Layout) -> Manifest | None:
    """The active manifest, or the newest that passes full checks when the pointer or its target is lost (SN-11).

    None when the store has never published. Raises StoreCorrupt when it has, but no snapshot is intact;
    IncompatibleVersion when the pointer leads, or may have led, to a snapshot of another release.
    """
    pointed_id = read_active_id(layout)
    if pointed_id is not None:
        try:
            return read(layout, pointed_id)
        except StoreCorrupt:
            return _find_newest_intact(layout, excluded_id=pointed_id)
    if not layout.active_pointer.exists() and _was_never_published(layout):
        return None
    return _find_newest_intact(layout, excluded_id=None)


def highest_epoch(layout: Layout, snapshot_ids: Iterable[str]) -> int:
    """The highest lease epoch of these snapshots, 0 without any; ignores unreadable manifests."""
    highest = 0
    for snapshot_id in snapshot_ids:
        with suppress(IntegrityError, IncompatibleVersion):
            highest = max(highest, read(layout, snapshot_id).lease_epoch)
    return highest


def _was_never_published(layout: Layout) -> bool:
    """Whether a missing pointer never existed: any snapshot is then of a first publish that died before its swap."""
    state = state_file.read(layout)
    return not list_ids(layout) if state is None else state.active_snapshot_id is None


def _find_newest_intact(layout: Layout, excluded_id: str | None) -> Manifest:
    """The intact snapshot with the highest lease epoch, since ids are out of order after a clock went back (LE-3)."""
    readable_manifests = []
    for snapshot_id in list_ids(layout):
        with suppress(IntegrityError, OSError):
            if snapshot_id != excluded_id:
                readable_manifests.extend(_read_unless_older(layout, snapshot_id))
    readable_manifests.sort(key=lambda manifest: (manifest.lease_epoch, manifest.snapshot_id), reverse=True)
    for manifest in readable_manifests:
        with suppress(IntegrityError, OSError):
            verifier = Verifier(layout)
            for artifact in manifest.artifacts():
                verifier.rehash(artifact)
            return manifest
    raise StoreCorrupt(
        f"store {layout.id} is corrupt: no snapshot passes its checks", hint="gitindex sync --full"
    )


def _read_unless_older(layout: Layout, snapshot_id: str) -> list[Manifest]:
    """Skip a manifest of an older release. Raises IncompatibleVersion for a newer one: it may be the active one."""
    try:
        return [read(layout, snapshot_id)]
    except IncompatibleVersion as error:
        if versions.is_newer(error):
            raise
        return []


def activate(layout: Layout, snapshot_id: str, epoch: int) -> None:
    """Swap the pointer, for the writer whose lease has `epoch`. Only here does a snapshot become visible.

    The replaced record of the present snapshot is written first (SN-9); it is ignored while that snapshot is active.

    Raises LeaseLost when a later lease has published (LE-3).
    """
    current_id = read_active_id(layout)
    if current_id is not None and highest_epoch(layout, [current_id]) > epoch:
        raise LeaseLost("a later writer has published; this snapshot was not", hint="gitindex sync")
    if current_id is not None and current_id != snapshot_id:
        replaced.record_replaced_at(layout, current_id, clock.read_clock())
    atomic.write_bytes(layout.active_pointer, f"{snapshot_id}\n".encode())
