"""Creates, finds, describes and removes stores (ST-1, ST-3, ST-4, ST-5)."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from gitindex.errors import GitindexError, UsageError
from gitindex.model.frozen import frozen
from gitindex.model.ids import ulid
from gitindex.store import acl, atomic, capability, manifests, ownership, state_file
from gitindex.store.layout import Layout, data_dir, store_id
from gitindex.store.state_file import StoreState


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
    problem: str = ""  # why this user may not read it


def locate(home: Path, root: Path, fingerprint: str) -> Layout:
    return Layout(data_dir(home) / store_id(root, fingerprint))


def read_existing(layout: Layout, mode: str) -> StoreState | None:
    """The state of the store, None when it does not exist.

    Raises UsageError when it has the other mode, ForeignStore when it is not this user's.
    """
    ownership.check(layout, mode)
    state = state_file.read(layout)
    if state is None or not layout.readers_lock.exists():
        return None
    if state.mode != mode:
        raise UsageError(
            f"store {layout.id} was created in {state.mode} mode and stays so",
            hint="gitindex gc --stores --force",
        )
    return state


def create(layout: Layout, new_state: StoreState) -> StoreState:
    """Create the store, or return the state of the one that exists.

    Raises UsageError when the store exists in the other mode, ForeignStore when it is not this user's, StoreUnwritable
    when it cannot be created, StoreNotShareable when its file system cannot hold a shared store.
    """
    existing_state = read_existing(layout, new_state.mode)
    if existing_state is not None:
        return existing_state
    with atomic.translate_storage_errors(layout.base):
        try:
            _make_directories(layout, new_state.mode)
        except FileNotFoundError as error:  # a file system in which nobody can create files (/proc)
            raise atomic.unwritable_error(layout.base, error) from error
        if new_state.mode == "shared":
            capability.check_shareable(layout)
        atomic.create_missing(layout.readers_lock)
        state_file.write(layout, new_state)
    return new_state


def _make_directories(layout: Layout, mode: str) -> None:
    """Restrict the store's directory before anything is in it; the other directories take their permissions from it.

    Neither reads nor sets the umask: it belongs to the whole process, which may have other threads (ST-3). A shared
    store gets a default ACL where the file system has ACLs.
    """
    atomic.make_private_folder(layout.base.parent, 0o700 if mode == "single" else 0o770)
    layout.base.mkdir(mode=0o700, exist_ok=True)
    layout.base.chmod(0o700 if mode == "single" else 0o2770)
    if mode == "shared":
        acl.grant_group(layout.base)
    for folder in layout.folders:
        atomic.make_folder(folder)


def list_layouts(home: Path) -> list[Layout]:
    """All stores of the home; lists one directory."""
    base = data_dir(home)
    if not base.is_dir():
        return []
    return [Layout(entry) for entry in sorted(base.iterdir()) if entry.is_dir() and "__" in entry.name]


def list_readable(home: Path, mode: str) -> list[Layout]:
    """The stores that a user of this mode may read; skips those of other users in the same home."""
    return [layout for layout in list_layouts(home) if ownership.find_problem(layout, mode) is None]


def describe_store(layout: Layout, mode: str) -> StoreInfo:
    """Never fails: fields that cannot be read, of a damaged store or another user's, are reported as unknown."""
    ownership_problem = ownership.find_problem(layout, mode)
    try:
        state = state_file.read(layout) if ownership_problem is None else None
    except GitindexError:
        state = None
    return StoreInfo(
        store_id=layout.id,
        config_fingerprint=state.config_fingerprint if state else layout.id.rsplit("__", 1)[-1],
        canonical_root=state.canonical_root if state else "unknown",
        created_at=state.created_at if state else "unknown",
        last_used_at=datetime.fromtimestamp(state_file.last_used(layout), UTC).isoformat(timespec="seconds"),
        size_bytes=atomic.tree_size(layout.base),
        active_snapshot_id=manifests.read_active_id(layout) if ownership_problem is None else None,
        mode=state.mode if state else "unknown",
        problem=ownership_problem.message if ownership_problem else "",
    )


def find_siblings(home: Path, layout: Layout, new_state: StoreState) -> list[Layout]:
    """Stores of the same repository and fingerprint that could seed this one, most recently used first (ST-4).

    Another user could change the files that we hard-link, so in single mode only our own stores are siblings.
    """
    sibling_layouts = []
    for other in list_readable(home, new_state.mode):
        if other.id == layout.id or not other.id.endswith(f"__{new_state.config_fingerprint[:16]}"):
            continue
        other_state = state_file.read(other)
        if other_state is None or other_state.mode != new_state.mode:
            continue
        same_clone = bool(new_state.common_dir) and other_state.common_dir == new_state.common_dir
        if same_clone or set(other_state.repository) & set(new_state.repository):
            sibling_layouts.append(other)
    return sorted(sibling_layouts, key=state_file.last_used, reverse=True)


def remove(layout: Layout) -> None:
    """Delete a whole store. Renames it first, so that no process opens a half-deleted one.

    Callers hold the lease and the readers lock.
    """
    import shutil

    trash = layout.base.with_name(f".doomed.{ulid()}")
    os.rename(layout.base, trash)
    shutil.rmtree(trash)
    layout.last_used.unlink(missing_ok=True)
