"""Store inventory and removal, upgrades."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from gitindex import gate
from gitindex.config import Environment
from gitindex.errors import GitindexError, IncompatibleVersion, IntegrityError
from gitindex.indexing.write import Progress
from gitindex.lifecycle import check, control_files
from gitindex.lifecycle.removal import remove_store
from gitindex.model import versions
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.ops.syncing.sync_report import SyncReport
from gitindex.store import lease, ownership, state_file, steps, stores
from gitindex.store.layout import builds_dir, root_hash
from gitindex.store.stores import StoreInfo
from gitindex.view.snapshot import SnapshotView, open_active

UNUSED_DAYS = 30


def list_stores(environment: Environment) -> list[StoreInfo]:
    """Every store of the home; those of builds are named `builds/…`."""
    return [
        replace(info, store_id=f"{prefix}{info.store_id}")
        for prefix, home in _store_homes(environment)
        for info in (
            stores.describe_store(layout, _store_mode(environment)) for layout in stores.list_layouts(home)
        )
    ]


def has_store(home: Path, root: Path) -> bool:
    """Is there an index of this very root, with whatever settings it was made?"""
    root_part = f"__{root_hash(root)}__"
    return any(root_part in layout.id and layout.state.exists() for layout in stores.list_layouts(home))


def _store_mode(environment: Environment) -> str:
    return "shared" if environment.user.shared else "single"


def _store_homes(environment: Environment) -> tuple[tuple[str, Path], ...]:
    return ("", environment.home), ("builds/", builds_dir(environment.home))


@dataclass(frozen=True, slots=True)
class BusyStore:
    """A store that would have been removed, and why it was not."""

    store_id: str
    code: str
    message: str
    next: str | None


@dataclass(frozen=True, slots=True)
class StoresReport:
    removed: tuple[str, ...]
    kept: tuple[str, ...]
    bytes_freed: int
    busy: tuple[BusyStore, ...] = ()  # of those kept


def collect_stores(
    environment: Environment, here: Codebase | None, *, days: int = UNUSED_DAYS, force: bool, dry_run: bool
) -> StoresReport:
    """Remove stores unused for `days`, builds included; the one of the current codebase only with `force` (ST-5).

    Stores of others in the same home are kept, and those that somebody reads or writes (SN-9).
    """
    removed, kept, busy, freed = [], [], [], 0
    limit = time.time() - days * 86400
    for prefix, home in _store_homes(environment):
        for layout in stores.list_layouts(home):
            name = f"{prefix}{layout.id}"
            current = here is not None and layout.base == here.layout.base
            foreign = ownership.find_problem(layout, _store_mode(environment)) is not None
            if foreign or (current and not force) or state_file.last_used(layout) > limit:
                kept.append(name)
                continue
            try:
                freed += remove_store(layout, dry_run=dry_run)
                removed.append(name)
            except GitindexError as error:
                kept.append(name)
                busy.append(BusyStore(name, error.code, error.message, error.hint))
    return StoresReport(tuple(removed), tuple(kept), freed, tuple(busy))


def upgrade(
    codebase: Codebase, progress: Progress = lambda _p, _d, _t: None
) -> tuple[str, SyncReport | None]:
    """Bring the store to this release's formats: ("current" | "reindexed", report).

    A newer store is refused (IncompatibleVersion); a damaged one too (IntegrityError). The last good snapshot
    stays active until the new one is published.
    """
    layout = codebase.layout
    if (
        not layout.readers_lock.exists()
    ):  # formats are part of a store's name: an older index is in another store
        return _reindex(codebase, progress) if gate.find_superseded(codebase) else ("current", None)
    with lease.hold(layout, "upgrade", wait=5):
        steps.reach("upgrade.validate")
        try:
            view = open_active(layout)
            if view is None:
                return "current", None
            with view:
                _validate(view)
            return "current", None
        except IncompatibleVersion as error:
            if versions.is_newer(error):
                raise
    return _reindex(codebase, progress)


def _reindex(codebase: Codebase, progress: Progress) -> tuple[str, SyncReport]:
    steps.reach("upgrade.publish")
    return "reindexed", sync(codebase, SyncOptions(full=True), progress)


def _validate(view: SnapshotView) -> None:
    """Every artifact whole and readable by this release, and the files beside them too."""
    damage = check.find_damaged_artifacts(view)
    if damage:
        raise IntegrityError(damage[0][1], hint="gitindex repair")
    for segment_number in range(len(view.manifest.segments)):
        view.facts(segment_number)
    control_files.find_damaged_files(view.layout)
