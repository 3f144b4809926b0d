"""The snapshot a sync builds upon."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass

from gitindex.errors import IntegrityError, LeaseHeld
from gitindex.model.manifest import GitState, Manifest
from gitindex.ops.codebase import Codebase, initial_store_state
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.store import clone, stores
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.store.lease import Lease
from gitindex.view.snapshot import SnapshotView, open_active

Adopt = Callable[[Lease, GitState], Manifest]


@dataclass(frozen=True, slots=True)
class ParentSnapshot:
    """The snapshot a sync builds upon."""

    view: SnapshotView | None = None
    seeded_from: str | None = None
    compare_all: bool = False  # compare every path
    unlist: frozenset[str] = frozenset()  # paths whose lexical documents must go whatever the plan says
    adopt: Adopt | None = None  # makes the base itself active, where nothing is to be done on top of it


ChooseParent = Callable[[Codebase, SyncOptions, ExitStack], ParentSnapshot]


def choose_parent(codebase: Codebase, options: SyncOptions, stack: ExitStack) -> ParentSnapshot:
    """Ours, else a sibling's by hard links (ST-4), else nothing."""
    if options.full:
        return ParentSnapshot()
    view = open_active(codebase.layout)
    if view is not None:
        return ParentSnapshot(stack.enter_context(view))
    for sibling in stores.find_siblings(codebase.home, codebase.layout, initial_store_state(codebase)):
        seeded_view = _seed_from_sibling(codebase, sibling)
        if seeded_view is not None:
            return ParentSnapshot(stack.enter_context(seeded_view), seeded_from=sibling.id)
    return ParentSnapshot()


def _seed_from_sibling(codebase: Codebase, sibling: Layout) -> SnapshotView | None:
    """A damaged or busy sibling is no reason to fail: we can always build."""
    try:
        with open_active(sibling) or nullcontext() as sibling_view:
            if sibling_view is None:
                return None
            manifest = clone.seed(codebase.layout, codebase.root, sibling, sibling_view.manifest)
    except (IntegrityError, LeaseHeld):
        return None
    return SnapshotView(codebase.layout, manifest, None, Verifier(codebase.layout))
