"""The small files beside the snapshots: the lease and the state file. Both can be made anew from manifests."""

from __future__ import annotations

import stat
from dataclasses import replace

from gitindex.errors import StoreCorrupt
from gitindex.model.manifest import Manifest
from gitindex.store import lease, manifests, state
from gitindex.store.layout import Layout
from gitindex.store.state import StoreState


def damaged(layout: Layout) -> tuple[str, ...]:
    """Paths, relative to the store, of control files that nobody can believe.

    Raises IncompatibleVersion for those of another release.
    """
    found = []
    if layout.base.exists() and state.read(layout) is None:
        found.append(layout.state.relative_to(layout.base).as_posix())
    try:
        lease.read(layout)
    except StoreCorrupt:
        found.append(layout.lease.relative_to(layout.base).as_posix())
    return tuple(found)


def mend(layout: Layout, fresh: StoreState) -> None:
    """Write damaged control files anew; `fresh` is the state a new store would start with."""
    lease.mend(layout, manifests.highest_epoch(layout, manifests.ids(layout)))
    if state.read(layout) is None:
        mode = "shared" if layout.base.stat().st_mode & stat.S_ISGID else "single"
        known = replace(fresh, mode=mode)
        manifest = _active(layout)
        state.write(layout, state.published(known, manifest) if manifest else known)


def _active(layout: Layout) -> Manifest | None:
    try:
        return manifests.active(layout)
    except StoreCorrupt:
        return None
