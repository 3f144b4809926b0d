"""`merge`: the shards of a build as one snapshot (RE-8).

Segments and lexical files are linked, nothing is indexed again. That the shards are all there, and nothing else,
is proven against the commit's tree before anything is published.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gitindex import config
from gitindex.config import Environment
from gitindex.errors import PublishBlocked, UsageError
from gitindex.indexing.compose import build_marker
from gitindex.model import portable
from gitindex.model.ids import ulid
from gitindex.model.manifest import Artifact, Manifest, Segment
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.ops.codebase import Codebase, initial_store_state
from gitindex.ops.sharing import push_checks
from gitindex.ops.sharing.build_area import list_builds, open_build_area
from gitindex.ops.sharing.merge_manifests import merge_manifests
from gitindex.segment import overlay
from gitindex.segment.lexicalunion import unite
from gitindex.segment.writer import SegmentWriter, WrittenSegment
from gitindex.store import atomic, clone, lease, manifests, publish, stores
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.store.publish import StagedSnapshot
from gitindex.view.snapshot import SnapshotView


@dataclass(frozen=True, slots=True)
class MergeReport:
    status: str
    commit: str
    snapshot_id: str
    shards: int
    segments: int
    counts: dict[str, int]
    elapsed_ms: int


def merge(path: Path, environment: Environment, folders: Sequence[Path], rev: str = "HEAD") -> MergeReport:
    """Publish one build made of all shards in `folders`.

    Raises UsageError without shards of this commit, PublishBlocked when they are not exactly the commit.
    """
    started = time.monotonic()
    codebase, revision = open_build_area(path, environment, rev)
    assert revision.commit is not None
    shards = [
        _find_shard_build(codebase, layout, revision.commit)
        for layout in _find_shard_stores(codebase, folders)
    ]
    if not shards:
        raise UsageError(
            f"no shard of {revision.commit[:12]} is there", hint="gitindex build --shard I/N --output DIR"
        )
    txn = ulid()
    stores.create(codebase.layout, initial_store_state(codebase))
    with (
        atomic.translate_storage_errors(codebase.layout.base),
        lease.hold(codebase.layout, txn, wait=30.0) as writer_lease,
    ):
        snapshot_id = manifests.next_id(codebase.layout, txn)
        parts = [
            clone.seed(codebase.layout, codebase.root, layout, shard_manifest)
            for layout, shard_manifest in shards
        ]
        merged = merge_manifests(parts, snapshot_id)
        with SnapshotView(codebase.layout, merged, None, Verifier(codebase.layout)) as view:
            view.forget_overlay()
            _check_disjoint(view)
            push_checks.check_snapshot(codebase, view, revision.commit)
            with publish.open_transaction(codebase.layout, snapshot_id, writer_lease) as folder:
                manifest = publish.publish(
                    codebase.layout,
                    writer_lease,
                    snapshot_id,
                    _stage(codebase, merged, parts, folder),
                    verifier=view.verifier,
                    compose=_make_compose(merged, codebase, writer_lease.epoch),
                )
    return MergeReport(
        status="ok",
        commit=revision.commit,
        snapshot_id=snapshot_id,
        shards=len(shards),
        segments=len(manifest.segments),
        counts={"files": manifest.counts.files_indexed, "chunks": manifest.counts.chunks_indexed},
        elapsed_ms=round((time.monotonic() - started) * 1000),
    )


def _find_shard_stores(codebase: Codebase, folders: Iterable[Path]) -> list[Layout]:
    """Shard stores of this configuration, in the folders or one level below."""
    homes = [home for folder in folders for home in (folder, *sorted(folder.glob("*"))) if home.is_dir()]
    suffix = f"__{codebase.fingerprint[:16]}"
    return [layout for home in homes for layout in stores.list_layouts(home) if layout.id.endswith(suffix)]


def _find_shard_build(codebase: Codebase, layout: Layout, commit: str) -> tuple[Layout, Manifest]:
    for manifest in list_builds(replace(codebase, layout=layout)):
        if manifest.git.head_sha == commit:
            return layout, manifest
    raise UsageError(f"{layout.base} holds no shard of {commit[:12]}", hint="build every shard of one commit")


def _check_disjoint(view: SnapshotView) -> None:
    path_counts = Counter(record.path for record in view.records())
    path, count = path_counts.most_common(1)[0] if path_counts else ("", 1)
    if count > 1:
        raise PublishBlocked(f"{path} is in {count} shards", hint="give each shard of one build once")


def _stage(codebase: Codebase, merged: Manifest, parts: Sequence[Manifest], folder: Path) -> StagedSnapshot:
    """The union of the lexical indexes, and a small segment with the completion marker (C-4)."""
    layout = codebase.layout
    lexical_artifacts = {artifact.path: artifact for part in parts for artifact in part.lexical}
    homes = [(layout.base / one.lexical[0].path).parent for one in parts]
    linked: dict[int, Artifact] = {}
    for source, copy in unite(homes, folder / "lexical", atomic.link_or_copy):
        linked[copy.stat().st_ino] = lexical_artifacts[source.relative_to(layout.base).as_posix()]
    overlay.write(folder / "overlay.jsonl", ())
    fingerprint = config.marker_fingerprint(codebase.settings, merged.dimension)
    payload = build_marker(portable.ROOT, fingerprint, merged.counts, merged.snapshot_id)
    marker_segment = _write_marker_segment(folder, merged.dimension, payload, merged.snapshot_id)
    return StagedSnapshot(folder, (marker_segment,), "delta", linked)


def _write_marker_segment(
    folder: Path, dimension: int, payload: dict[str, Any], snapshot_id: str
) -> WrittenSegment:
    name = f"seg_{snapshot_id}_0"
    writer = SegmentWriter(folder / name, name, dimension, CHUNKER_VERSION)
    writer.write_table(payload)
    return writer.write_facts(())


def _make_compose(merged: Manifest, codebase: Codebase, epoch: int) -> publish.ComposeManifest:
    def compose(
        segments: tuple[Segment, ...], lexical: tuple[Artifact, ...], overlay_artifact: Artifact
    ) -> Manifest:
        return replace(
            merged,
            store_id=codebase.layout.id,
            canonical_root=str(codebase.root),
            lease_epoch=epoch,
            segments=(*merged.segments, *segments),
            lexical=lexical,
            overlay=overlay_artifact,
        )

    return compose
