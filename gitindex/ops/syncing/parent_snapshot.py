"""The snapshot a sync builds upon."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass

from gitindex.errors import IntegrityError, LeaseHeld
from gitindex.model.manifest import GitState, Manifest
from gitindex.ops.codebase import Codebase, fresh_state
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.store import clone, stores
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.store.lease import Lease
from gitindex.view.snapshot import SnapshotView, open_active

Adopt = Callable[[Lease, GitState], Manifest]


@dataclass(frozen=True, slots=True)
class Base:
    """The snapshot a sync builds upon."""

    view: SnapshotView | None = None
    seeded_from: str | None = None
    whole: bool = False  # compare every path
    unlist: frozenset[str] = frozenset()  # paths whose lexical documents must go whatever the plan says
    adopt: Adopt | None = None  # makes the base itself active, where nothing is to be done on top of it


ChooseBase = Callable[[Codebase, SyncOptions, ExitStack], Base]


def choose_base(codebase: Codebase, options: SyncOptions, stack: ExitStack) -> Base:
    """Ours, else a sibling's by hard links (ST-4), else nothing."""
    if options.full:
        return Base()
    view = open_active(codebase.layout)
    if view is not None:
        return Base(stack.enter_context(view))
    for sibling in stores.find_siblings(codebase.home, codebase.layout, fresh_state(codebase)):
        seeded = _seed(codebase, sibling)
        if seeded is not None:
            return Base(stack.enter_context(seeded), seeded_from=sibling.id)
    return Base()


def _seed(codebase: Codebase, sibling: Layout) -> SnapshotView | None:
    """A damaged or busy sibling is no reason to fail: we can always build."""
    try:
        with open_active(sibling) or nullcontext() as theirs:
            if theirs is None:
                return None
            manifest = clone.seed(codebase.layout, codebase.root, sibling, theirs.manifest)
    except (IntegrityError, LeaseHeld):
        return None
    return SnapshotView(codebase.layout, manifest, None, Verifier(codebase.layout))
