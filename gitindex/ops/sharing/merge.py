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
from gitindex.indexing.compose import marker
from gitindex.model import portable
from gitindex.model.ids import ulid
from gitindex.model.manifest import Artifact, Manifest, Segment
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.ops.codebase import Codebase, fresh_state
from gitindex.ops.sharing import push_checks
from gitindex.ops.sharing.build_area import builds, open_area
from gitindex.ops.sharing.merge_manifests import joined
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
    codebase, at = open_area(path, environment, rev)
    assert at.commit is not None
    shards = [_newest(codebase, layout, at.commit) for layout in _layouts(codebase, folders)]
    if not shards:
        raise UsageError(
            f"no shard of {at.commit[:12]} is there", hint="gitindex build --shard I/N --output DIR"
        )
    txn = ulid()
    stores.create(codebase.layout, fresh_state(codebase))
    with (
        atomic.translate_storage_errors(codebase.layout.base),
        lease.hold(codebase.layout, txn, wait=30.0) as held,
    ):
        snapshot_id = manifests.next_id(codebase.layout, txn)
        parts = [clone.seed(codebase.layout, codebase.root, layout, one) for layout, one in shards]
        whole = joined(parts, snapshot_id)
        with SnapshotView(codebase.layout, whole, None, Verifier(codebase.layout)) as view:
            view.forget_overlay()
            _check_disjoint(view)
            push_checks.check_snapshot(codebase, view, at.commit)
            with publish.open_transaction(codebase.layout, snapshot_id, held) as folder:
                manifest = publish.publish(
                    codebase.layout,
                    held,
                    snapshot_id,
                    _stage(codebase, whole, parts, folder),
                    view.verifier,
                    _composer(whole, codebase, held.epoch),
                )
    return MergeReport(
        status="ok",
        commit=at.commit,
        snapshot_id=snapshot_id,
        shards=len(shards),
        segments=len(manifest.segments),
        counts={"files": manifest.counts.files_indexed, "chunks": manifest.counts.chunks_indexed},
        elapsed_ms=round((time.monotonic() - started) * 1000),
    )


def _layouts(codebase: Codebase, folders: Iterable[Path]) -> list[Layout]:
    """Shard stores of this configuration, in the folders or one level below."""
    homes = [home for folder in folders for home in (folder, *sorted(folder.glob("*"))) if home.is_dir()]
    suffix = f"__{codebase.fingerprint[:16]}"
    return [layout for home in homes for layout in stores.list_layouts(home) if layout.id.endswith(suffix)]


def _newest(codebase: Codebase, layout: Layout, commit: str) -> tuple[Layout, Manifest]:
    for manifest in builds(replace(codebase, layout=layout)):
        if manifest.git.head_sha == commit:
            return layout, manifest
    raise UsageError(f"{layout.base} holds no shard of {commit[:12]}", hint="build every shard of one commit")


def _check_disjoint(view: SnapshotView) -> None:
    seen = Counter(record.path for record in view.records())
    path, times = seen.most_common(1)[0] if seen else ("", 1)
    if times > 1:
        raise PublishBlocked(f"{path} is in {times} shards", hint="give each shard of one build once")


def _stage(codebase: Codebase, whole: Manifest, parts: Sequence[Manifest], folder: Path) -> StagedSnapshot:
    """The union of the lexical indexes, and a small segment with the completion marker (C-4)."""
    layout = codebase.layout
    known = {artifact.path: artifact for one in parts for artifact in one.lexical}
    homes = [(layout.base / one.lexical[0].path).parent for one in parts]
    linked: dict[int, Artifact] = {}
    for source, copy in unite(homes, folder / "lexical", atomic.link_or_copy):
        linked[copy.stat().st_ino] = known[source.relative_to(layout.base).as_posix()]
    overlay.write(folder / "overlay.jsonl", ())
    rules = config.marker_fingerprint(codebase.settings, whole.dimension)
    payload = marker(portable.ROOT, rules, whole.counts, whole.snapshot_id)
    fresh = _marker_segment(folder, whole.dimension, payload, whole.snapshot_id)
    return StagedSnapshot(folder, (fresh,), "delta", linked)


def _marker_segment(
    folder: Path, dimension: int, payload: dict[str, Any], snapshot_id: str
) -> WrittenSegment:
    name = f"seg_{snapshot_id}_0"
    writer = SegmentWriter(folder / name, name, dimension, CHUNKER_VERSION)
    writer.write_table(payload)
    return writer.write_facts(())


def _composer(whole: Manifest, codebase: Codebase, epoch: int) -> publish.ComposeManifest:
    def compose(segments: tuple[Segment, ...], words: tuple[Artifact, ...], kept: Artifact) -> Manifest:
        return replace(
            whole,
            store_id=codebase.layout.id,
            canonical_root=str(codebase.root),
            lease_epoch=epoch,
            segments=(*whole.segments, *segments),
            lexical=words,
            overlay=kept,
        )

    return compose
