"""RE-8: shards built apart and merged are the build of the whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.errors import PublishBlocked, UsageError
from gitindex.lifecycle import check
from gitindex.lifecycle.digest import compute_digest
from gitindex.ops.sharing.build_area import find_build, open_build_area
from gitindex.ops.sharing.build_options import Shard
from gitindex.ops.sharing.merge import merge
from gitindex.store.integrity import Verifier
from gitindex.view.snapshot import SnapshotView
from tests.campaigns.share.team import Team, many_files


def shards(team: Team, count: int, where: Path) -> None:
    for number in range(1, count + 1):
        team.build(shard=Shard(number, count), output=where)


def test_every_path_is_in_exactly_one_shard():
    paths = [path for path, _ in many_files(200)]
    for count in (1, 2, 7):
        split = [
            {path for path in paths if Shard(number, count).holds(path)} for number in range(1, count + 1)
        ]
        assert sorted(path for part in split for path in part) == sorted(paths)
        assert all(split)


def test_merged_shards_equal_a_whole_build(team: Team):
    """Also with links across shards, skipped files and an empty shard; and it can be pushed and fetched."""
    (team.origin.root / "link.py").symlink_to("pkg/deep.py")
    team.commit("more", **dict(many_files(12)), **{"blob.bin": b"\0\1\2", ".gitindexignore": "src/m1/\n"})
    shards(team, 3, team.where / "out")
    merged = merge(team.origin.root, team.ci, [team.where / "out"])
    assert merged.shards == 3
    codebase, at = open_build_area(team.origin.root, team.ci, "HEAD")
    manifest = find_build(codebase, at.commit or "")
    clone = team.clone()
    with SnapshotView(codebase.layout, manifest, None, Verifier(codebase.layout)) as view:
        found = compute_digest(view)
        assert check.inspect(view, found) == []
    assert found == team.clean(clone)
    assert team.push().manifest == "created"
    team.trust(clone)
    team.fetch(clone)
    assert team.digest(clone) == found
    team.commit("after", **{"a.py": "def after(): pass\n"})
    assert team.build().base == "published"
    team.push()
    clone.git("pull", "-q")
    team.fetch(clone)
    assert team.digest(clone) == team.clean(clone)


def test_missing_doubled_and_foreign_shards_are_refused(team: Team):
    out = team.where / "out"
    with pytest.raises(UsageError, match="no shard"):
        merge(team.origin.root, team.ci, [out])
    shards(team, 2, out)
    for folders, why in (([out / "1-of-2"], "disagree about"), ([out, out / "1-of-2"], "shards")):
        with pytest.raises(PublishBlocked, match=why):
            merge(team.origin.root, team.ci, folders)
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    with pytest.raises(UsageError, match="holds no shard of"):
        merge(team.origin.root, team.ci, [out])
    assert merge(team.origin.root, team.ci, [out], "HEAD~1").status == "ok"


@pytest.mark.parametrize("shard", [Shard(0, 2), Shard(3, 2), Shard(1, 300)])
def test_impossible_shards(team: Team, shard: Shard):
    with pytest.raises(UsageError):
        team.build(shard=shard, output=team.where / "out")


def test_a_shard_needs_a_place(team: Team):
    with pytest.raises(UsageError, match="directory"):
        team.build(shard=Shard(1, 2))
