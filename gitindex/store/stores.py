"""Making, finding and describing stores (ST-1, ST-3, ST-4, ST-5)."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from gitindex.errors import GitindexError, UsageError
from gitindex.model.frozen import frozen
from gitindex.model.ids import ulid
from gitindex.store import acl, atomic, capability, manifests, ownership, store_state
from gitindex.store.layout import Layout, data_dir, store_id
from gitindex.store.store_state import StoreState


@frozen
class StoreInfo:
    """One line of `gitindex stores`."""

    store_id: str
    config_fingerprint: str
    canonical_root: str
    created_at: str
    last_used_at: str
    size_bytes: int
    active_snapshot_id: str | None
    mode: str
    problem: str = ""  # why nothing of it was read


def locate(home: Path, root: Path, fingerprint: str) -> Layout:
    return Layout(data_dir(home) / store_id(root, fingerprint))


def existing(layout: Layout, mode: str) -> StoreState | None:
    """The state of the store, None where there is none.

    Raises UsageError when it is of the other mode, ForeignStore when it is not this user's.
    """
    ownership.check(layout, mode)
    found = store_state.read(layout)
    if found is None or not layout.readers.exists():
        return None
    if found.mode != mode:
        raise UsageError(
            f"store {layout.id} was created in {found.mode} mode and stays so",
            hint="gitindex gc --stores --force",
        )
    return found


def create(layout: Layout, fresh: StoreState) -> StoreState:
    """Make the store's directories, or return the state of the one that is there.

    Raises UsageError when the store exists in the other mode, ForeignStore when it is not this user's,
    StoreUnwritable when it cannot be made, StoreNotShareable when a shared one cannot be carried.
    """
    found = existing(layout, fresh.mode)
    if found is not None:
        return found
    with atomic.storage(layout.base):
        try:
            _make_directories(layout, fresh.mode)
        except FileNotFoundError as error:  # a file system where nothing can be made (/proc)
            raise atomic.unwritable(layout.base, error) from error
        if fresh.mode == "shared":
            capability.check_shareable(layout)
        atomic.create_missing(layout.readers)
        store_state.write(layout, fresh)
    return fresh


def _make_directories(layout: Layout, mode: str) -> None:
    """The store itself keeps others out before anything is in it; what follows takes its permissions from there. The
    umask is the process's, and a server has other threads: it is neither asked nor set (ST-3). A shared store gets an
    ACL that the kernel hands down, where there are such."""
    atomic.make_private_folder(layout.base.parent, 0o700 if mode == "single" else 0o770)
    layout.base.mkdir(mode=0o700, exist_ok=True)
    layout.base.chmod(0o700 if mode == "single" else 0o2770)
    if mode == "shared":
        acl.grant_group(layout.base)
    for folder in layout.folders:
        atomic.make_folder(folder)


def layouts(home: Path) -> list[Layout]:
    """All stores, by a single-level scan."""
    base = data_dir(home)
    if not base.is_dir():
        return []
    return [Layout(entry) for entry in sorted(base.iterdir()) if entry.is_dir() and "__" in entry.name]


def believed(home: Path, mode: str) -> list[Layout]:
    """The stores that a user of this mode may read: those of others in the same home are passed over."""
    return [layout for layout in layouts(home) if ownership.problem(layout, mode) is None]


def describe(layout: Layout, mode: str) -> StoreInfo:
    """Never fails: of a damaged store, or of somebody else's, what cannot be read is said to be unknown."""
    foreign = ownership.problem(layout, mode)
    try:
        found = store_state.read(layout) if foreign is None else None
    except GitindexError:
        found = None
    return StoreInfo(
        store_id=layout.id,
        config_fingerprint=found.config_fingerprint if found else layout.id.rsplit("__", 1)[-1],
        canonical_root=found.canonical_root if found else "unknown",
        created_at=found.created_at if found else "unknown",
        last_used_at=datetime.fromtimestamp(store_state.last_used(layout), UTC).isoformat(timespec="seconds"),
        size_bytes=atomic.tree_size(layout.base),
        active_snapshot_id=manifests.active_id(layout) if foreign is None else None,
        mode=found.mode if found else "unknown",
        problem=foreign.message if foreign else "",
    )


def siblings(home: Path, layout: Layout, fresh: StoreState) -> list[Layout]:
    """Stores of the same repository and fingerprint that could seed this one, most recently used first (ST-4).

    Hard links of another user's files would stay his to change: in single mode only ours are siblings.
    """
    found = []
    for other in believed(home, fresh.mode):
        if other.id == layout.id or not other.id.endswith(f"__{fresh.config_fingerprint[:16]}"):
            continue
        theirs = store_state.read(other)
        if theirs is None or theirs.mode != fresh.mode:
            continue
        same_clone = bool(fresh.common_dir) and theirs.common_dir == fresh.common_dir
        if same_clone or set(theirs.repository) & set(fresh.repository):
            found.append(other)
    return sorted(found, key=store_state.last_used, reverse=True)


def remove(layout: Layout) -> None:
    """Delete a whole store. Renamed first, so nobody opens a half-deleted one. Needs the lease and the readers lock."""
    import shutil

    doomed = layout.base.with_name(f".doomed.{ulid()}")
    os.rename(layout.base, doomed)
    shutil.rmtree(doomed)
    layout.last_used.unlink(missing_ok=True)
