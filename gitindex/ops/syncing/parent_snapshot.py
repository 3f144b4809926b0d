"""The snapshot that a sync builds upon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from gitindex.errors import IntegrityError, LeaseHeld
from gitindex.ops.codebase import Codebase, initial_store_state
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.store import clone, stores
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView, open_active


@dataclass(frozen=True, slots=True)
class ParentSnapshot:
    """An open snapshot to build upon; without a `view` the sync writes every file."""

    view: SnapshotView | None = None
    seeded_from: str | None = (
        None  # the store or remote it came from; None: it is this store's active snapshot
    )
    compare_all: bool = False  # compare every path
    unlist: frozenset[str] = frozenset()  # paths whose lexical documents must go whatever the plan says


@contextmanager
def open_parent(codebase: Codebase, options: SyncOptions) -> Iterator[ParentSnapshot]:
    """The active snapshot, else one hard-linked from a sibling store (ST-4), else none. Needs the lease."""
    parent = ParentSnapshot() if options.full else _find_parent(codebase)
    with parent.view or nullcontext():
        yield parent


def _find_parent(codebase: Codebase) -> ParentSnapshot:
    view = open_active(codebase.layout)
    if view is not None:
        return ParentSnapshot(view)
    for sibling in stores.find_siblings(codebase.home, codebase.layout, initial_store_state(codebase)):
        seeded_view = _seed_from_sibling(codebase, sibling)
        if seeded_view is not None:
            return ParentSnapshot(seeded_view, seeded_from=sibling.id)
    return ParentSnapshot()


def _seed_from_sibling(codebase: Codebase, sibling: Layout) -> SnapshotView | None:
    """None where the sibling is damaged, busy or empty: the sync then builds from nothing."""
    try:
        with open_active(sibling) or nullcontext() as sibling_view:
            if sibling_view is None:
                return None
            manifest = clone.seed(codebase.layout, codebase.root, sibling, sibling_view.manifest)
    except (IntegrityError, LeaseHeld):
        return None
    return SnapshotView(codebase.layout, manifest, None, Verifier(codebase.layout))
