"""Carries exact facts over a full reindex: the documents of the previous snapshot are published on the new one (SE-7).

A document belongs to the bytes that it was made from, not to a snapshot. Documents of files that changed are not
current after the reindex, as before it; the next refresh replaces them.
"""

from __future__ import annotations

from contextlib import ExitStack

from gitindex.model.ids import ulid
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.segment import scipmerge
from gitindex.segment.writer import SegmentWriter
from gitindex.semantic.importer import make_composer, stage
from gitindex.store import lease, manifests, publish
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView, open_active


def carry_documents(layout: Layout, previous: SnapshotView, *, wait: float = 30.0) -> str | None:
    """Publish the documents of `previous` on the active snapshot. Returns its id, or None when nothing was published.

    Raises everything that a publish raises, and that reading damaged documents raises.
    """
    with ExitStack() as stack:
        txn = ulid()
        folder = stack.enter_context(publish.open_transaction(layout, txn))
        segment_id = f"seg_{txn}_0"
        writer = SegmentWriter(folder / segment_id, segment_id, previous.manifest.dimension, CHUNKER_VERSION)
        if not any(documents for _, documents in previous.scip.merge_sources()):
            return None
        scipmerge.merge(folder / segment_id / "scip.sqlite", segment_id, previous.scip.merge_sources())
        held_lease = stack.enter_context(lease.hold(layout, txn, wait=wait))
        active = open_active(layout)
        if active is None or stack.enter_context(active).scip:
            return None  # another process refreshed: its facts are newer than ours
        snapshot_id = manifests.next_id(layout, txn)
        staged = stage(active, folder, writer, snapshot_id)
        compose = make_composer(active.manifest, snapshot_id, held_lease.epoch, previous.manifest.semantic)
        publish.publish(layout, held_lease, snapshot_id, staged, verifier=active.verifier, compose=compose)
        return snapshot_id
