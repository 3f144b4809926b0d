"""SN-8, RE-3: a compaction merges small neighbours and leaves large segments byte for byte as they are."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitindex.lifecycle import compact, tiers
from gitindex.lifecycle.tiers import SegmentUsage
from tests.campaigns.crash.test_parity import some_runs
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.support.midway import once_at

weights = st.builds(
    lambda size, rows, dead, graves: SegmentUsage(size, rows, rows * dead // 100, tombstones=graves),
    st.integers(0, 10**9),
    st.integers(0, 10**6),
    st.integers(0, 100),
    st.integers(0, 150_000),
)


@given(st.lists(weights, max_size=70))
def test_a_plan_ends_with_few_segments_and_few_graves(given_weights):
    """SN-8: runs are ordered and disjoint; what stays is large and mostly alive, or alone between such."""
    runs = tiers.choose_runs(given_weights)
    merged = [at for run in runs for at in run]
    assert merged == sorted(set(merged))
    stays = [at for at in range(len(given_weights)) if at not in merged]
    assert len(stays) + len(runs) <= 2 * tiers.MAX_LARGE_SEGMENTS + 1
    total = sum(weight.size for weight in given_weights)
    neighbours = [at for at in stays if at + 1 in stays]
    for at in neighbours:  # of two that stay side by side one at least is large
        pair = given_weights[at], given_weights[at + 1]
        assert any(
            one.size * tiers.LARGE_DIVISOR >= total and one.dead_fraction <= tiers.MAX_DEAD_FRACTION
            for one in pair
        )


def test_a_large_segment_stays_until_most_of_it_is_dead():
    base, small = SegmentUsage(1000, 100, 50), SegmentUsage(10, 5)
    assert tiers.choose_runs([base, small, small, small]) == [range(1, 4)]
    assert tiers.choose_runs([SegmentUsage(1000, 100, 51), small, small]) == [range(3)]
    assert tiers.choose_runs([base, SegmentUsage(900, documents=10, dead_documents=6), small]) == [
        range(1, 3)
    ]
    assert tiers.choose_runs([base, small, base, small, small]) == [range(3, 5)]
    assert tiers.choose_runs([base, small]) == []
    assert tiers.choose_runs(
        [SegmentUsage(1000, 10**6, 10**5, tombstones=tiers.MAX_KEPT_TOMBSTONES + 1), small]
    ) == [range(2)]


@pytest.fixture
def changed(repo: GitRepo) -> GitRepo:
    """Ten snapshots in which paths are added, changed, deleted, added again and moved."""
    repo.commit("base", **{f"m{at}.py": f"def m{at}(): return {at}\n" for at in range(6)})
    harness.index(repo.root)
    for turn in range(9):
        repo.commit(
            f"c{turn}", **{f"m{turn % 4}.py": f"def turn_{turn}(): pass\n", f"n{turn}.md": f"# N{turn}\n"}
        )
        if turn % 3 == 1:
            repo.git("rm", "-q", f"m{turn % 4}.py")
        if turn % 4 == 2:
            repo.git("mv", f"n{turn}.md", f"moved_{turn % 8}.md")
        repo.git("commit", "-q", "--allow-empty", "-m", f"d{turn}")
        harness.index(repo.root)
    return repo


def test_any_neighbours_can_be_merged(changed: GitRepo, tmp_path: Path):
    """SN-6, SN-10: whatever runs are merged, in whatever order, no row comes back and none is lost."""
    layout = harness.codebase(changed.root).layout
    expected = harness.clean_digest(changed.root, tmp_path / "scratch")
    chance = random.Random(8)
    while True:
        with harness.view(changed.root) as view:
            count = len(view.manifest.segments)
        if count == 1:
            break
        compact.compact_runs(layout, lambda view: some_runs(len(view.manifest.segments), chance))
        assert harness.digest_of(changed.root) == expected
        assert harness.audited(changed.root).problems == ()
        chance.random()
        if chance.random() < 0.15:
            compact.compact(layout)


def test_large_segments_keep_every_byte(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """RE-3: table, facts and lexical files of the base are the same files after the deltas were merged."""
    repo.commit(
        "base", **{f"m{at}.py": f"def m{at}():\n    return 'words of {at}'\n" * 200 for at in range(40)}
    )
    harness.index(repo.root)
    layout = harness.codebase(repo.root).layout
    with harness.view(repo.root) as view:
        (base,) = view.manifest.segments
        words = {item.sha256: item.size_bytes for item in view.manifest.lexical}
    for turn in range(12):
        repo.commit(f"c{turn}", **{f"m{turn % 5}.py": f"def turn_{turn}(): pass\n"})
        harness.index(repo.root)
    report = compact.compact_deltas(layout)
    assert report is not None
    assert (report.segments_before, report.segments_after) == (13, 2)
    with harness.view(repo.root) as view:
        assert view.manifest.segments[0] == base
        assert view.manifest.tombstone_count == 5
        kept = {item.sha256 for item in view.manifest.lexical}
        assert sum(size for digest, size in words.items() if digest in kept) > 0.8 * sum(words.values())
    assert harness.audited(repo.root).problems == ()
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")
    assert compact.compact_deltas(layout) is None
    assert harness.index(repo.root).noop
    monkeypatch.setattr(tiers, "MAX_DEAD_FRACTION", 0.05)
    assert compact.compact_deltas(layout) is not None
    with harness.view(repo.root) as view:
        assert base not in view.manifest.segments, "a base that is mostly dead is written anew"
        assert sum(segment.rows for segment in view.manifest.segments) == view.manifest.counts.chunks_indexed
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")


def test_merged_deltas_stay_below_what_was_published_meanwhile(changed: GitRepo, tmp_path: Path):
    """SN-8: rebased in the middle, with a large segment before and newer ones after."""
    layout = harness.codebase(changed.root).layout

    def publish() -> None:
        changed.commit("meanwhile", **{"m0.py": "def newer(): pass\n", "fresh.py": "F = 1\n"})
        harness.index(changed.root)

    with once_at("compact.publish", publish):
        report = compact.compact_runs(layout, lambda _: [range(1, 4), range(5, 8)])
    assert report is not None
    assert report.rebased
    assert harness.audited(changed.root).problems == ()
    assert harness.digest_of(changed.root) == harness.clean_digest(changed.root, tmp_path / "scratch")
    assert harness.index(changed.root).noop
