"""RE-8: the manifests of shards as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitindex.errors import PublishBlocked
from gitindex.model.manifest import Artifact, Counts, FileError, GitState, Manifest, Origin, Segment
from gitindex.ops.sharing.merge_manifests import merge_manifests


def make_part(number: int, **fields) -> Manifest:
    segment = Segment(
        id=f"seg_{number}",
        kind="base",
        snapshot_id=str(number),
        rows=1,
        files=1,
        artifacts=(),
        tombstones=None,
    )
    part = Manifest(
        snapshot_id=f"part-{number}",
        parent_snapshot_id="parent",
        created_at="2026-01-02T03:04:05Z",
        canonical_root="/",
        store_id="store",
        config_fingerprint="c",
        ignore_fingerprint="rules",
        lease_epoch=1,
        git=GitState(head_sha="a" * 40),
        segments=(segment,),
        lexical=(),
        overlay=Artifact("overlay.jsonl", 0, ""),
        counts=Counts(files_indexed=number, languages={"python": number, f"only-{number}": 1}),
        embedder="none",
        dimension=0,
        timings_ms={"total": 10**number, "plan": 5},
        origin=Origin("seeded"),
    )
    return replace(part, **fields)


def test_segments_counts_and_times_of_all_shards():
    merged = merge_manifests([make_part(1), make_part(2), make_part(3)], "new")
    assert (merged.snapshot_id, merged.parent_snapshot_id, merged.origin) == ("new", None, Origin())
    assert [segment.id for segment in merged.segments] == ["seg_1", "seg_2", "seg_3"]
    assert merged.counts.files_indexed == 6
    assert merged.counts.languages == {"only-1": 1, "only-2": 1, "only-3": 1, "python": 6}
    assert merged.timings_ms == {"total": 1110}
    assert merged.overlay.path.startswith("snapshots/new/")


def test_one_degraded_shard_degrades_the_whole():
    error = FileError("unreadable", "cannot be read", "a.py")
    merged = merge_manifests([make_part(1), make_part(2, degraded=True, errors=(error,))], "new")
    assert (merged.degraded, merged.errors) == (True, (error,))
    assert not merge_manifests([make_part(1), make_part(2)], "new").degraded


@pytest.mark.parametrize("field", ["ignore_fingerprint", "embedder"])
def test_shards_of_other_rules_are_refused(field: str):
    with pytest.raises(PublishBlocked, match="different rules"):
        merge_manifests([make_part(1), make_part(2, **{field: "other"})], "new")
