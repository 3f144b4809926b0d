"""Exact facts outlive a full reindex: the documents of the snapshot before it are published on top (SE-7).

A document belongs to the bytes it was made from, not to a snapshot. Those of files that changed meanwhile stay what
they were before the reindex: not current, and mended by the next refresh.
"""

from __future__ import annotations

from contextlib import ExitStack

from gitindex.model.ids import ulid
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.segment import scipmerge
from gitindex.segment.writer import SegmentWriter
from gitindex.semantic.importer import composer, stage
from gitindex.store import lease, manifests, publish
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView, open_active


def carry(layout: Layout, before: SnapshotView, *, wait: float = 30.0) -> str | None:
    """Publish the documents of `before` on the active snapshot; its id, or None when there are none to carry.

    Raises what a publish raises, and what reading damaged documents raises.
    """
    with ExitStack() as stack:
        txn = ulid()
        folder = stack.enter_context(publish.open_transaction(layout, txn))
        name = f"seg_{txn}_0"
        writer = SegmentWriter(folder / name, name, before.manifest.dimension, CHUNKER_VERSION)
        if not any(documents for _, documents in before.scip.merge_sources()):
            return None
        scipmerge.merge(folder / name / "scip.sqlite", name, before.scip.merge_sources())
        held = stack.enter_context(lease.hold(layout, txn, wait=wait))
        now = open_active(layout)
        if now is None or stack.enter_context(now).scip:
            return None  # somebody refreshed meanwhile: newer than what we have
        snapshot_id = manifests.next_id(layout, txn)
        staged = stage(now, folder, writer, snapshot_id)
        compose = composer(now.manifest, snapshot_id, held.epoch, before.manifest.semantic)
        publish.publish(layout, held, snapshot_id, staged, now.verifier, compose)
        return snapshot_id
