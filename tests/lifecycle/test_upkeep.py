"""Compaction, collection and repair (SN-8, SN-9, SN-11)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.errors import LeaseHeld
from gitindex.lifecycle import compact, gc, maintenance_due, retention
from gitindex.model.ids import creation_ms, ulid
from gitindex.model.moment import Moment
from gitindex.ops.syncing import maintenance
from gitindex.store import manifests
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.support.midway import once_at

times = st.integers(0, 2**46)


@given(times)
def test_ids_carry_their_time(stamp):
    """SN-9: staging that nobody owns expires by its name; what is no id counts as ancient."""
    found = ulid(stamp)
    assert creation_ms(found) == stamp
    assert not retention.is_expired_staging(found, Moment(stamp + retention.STAGING_TTL_MS))
    assert retention.is_expired_staging(found, Moment(stamp + retention.STAGING_TTL_MS + 1))
    assert not retention.is_expired_staging(found, Moment(stamp - retention.STAGING_TTL_MS - 1))
    assert creation_ms("lost+found") == 0


@settings(max_examples=20)
@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=8))
def test_ids_sort_by_time(stamps):
    assert [creation_ms(found) for found in sorted(map(ulid, stamps))] == sorted(stamps)


def history(repo: GitRepo, count: int) -> None:
    for at in range(count):
        repo.commit(f"c{at}", **{"a.py": f"def a(): return {at}\n", f"m{at % 3}.py": f"M = {at}\n"})
        harness.index(repo.root)


def test_gc_keeps_the_active_and_what_it_references(repo: GitRepo):
    """SN-9: the oldest segments stay, because the active snapshot still stands on them."""
    history(repo, 8)
    layout = harness.codebase(repo.root).layout
    before = harness.digest_of(repo.root)
    assert harness.cli("gc", "--json", "--path", str(repo.root)).json["removed"] == 0, "all are young"
    planned = gc.plan(layout, harness.LATER)
    report = gc.collect(layout, now=harness.LATER)
    assert report.plan.snapshots == planned.snapshots
    assert len(manifests.list_ids(layout)) == retention.KEEP_AT_LEAST
    assert len(list(layout.segments.iterdir())) == 8
    assert harness.digest_of(repo.root) == before
    assert harness.audited(repo.root).is_clean


def test_gc_waits_for_readers_and_writers(repo: GitRepo):
    """SN-9, IDX.MUST.005: an open view keeps it out."""
    history(repo, 2)
    layout = harness.codebase(repo.root).layout
    with harness.view(repo.root), pytest.raises(LeaseHeld):
        gc.collect(layout, wait=0.05)
    gc.collect(layout, wait=0.05)


def test_gc_removes_stale_staging_only(repo: GitRepo):
    """SN-9: thirty minutes."""
    history(repo, 1)
    layout = harness.codebase(repo.root).layout
    now = time.time_ns() // 1_000_000
    old, young = ulid(now - 31 * 60_000), ulid(now - 29 * 60_000)
    for name in (old, young):
        (layout.staging / name).mkdir()
    gc.collect(layout)
    assert [path.name for path in layout.staging.iterdir()] == [young]


def test_compaction_merges_and_changes_nothing(repo: GitRepo):
    """SN-8, SN-10: one segment, no tombstones, the same digest."""
    history(repo, 6)
    layout = harness.codebase(repo.root).layout
    before = harness.digest_of(repo.root)
    report = compact.compact(layout)
    assert report is not None
    assert (report.segments_before, report.segments_after, report.rebased) == (6, 1, False)
    assert report.tombstones_before > 0
    assert harness.digest_of(repo.root) == before
    assert harness.audited(repo.root).is_clean
    assert compact.compact(layout) is None
    assert harness.cli("compact", "--json", "--path", str(repo.root)).json["noop"]


@pytest.mark.parametrize("provider", ["none", "fake"])
def test_compaction_rebases_on_what_was_published_meanwhile(repo: GitRepo, tmp_path: Path, provider: str):
    """SN-8: built without the lease, published with it; the newer segments stay on top."""
    repo.commit("config", **{".gitindex.toml": f"[embedding]\nprovider = '{provider}'\n"})
    history(repo, 4)
    layout = harness.codebase(repo.root).layout

    def publish() -> None:
        repo.commit("meanwhile", **{"a.py": "def newer(): pass\n", "fresh.py": "F = 1\n"})
        repo.git("rm", "-q", "m1.py")
        harness.index(repo.root)

    with once_at("compact.publish", publish):
        report = compact.compact(layout)
    assert report is not None
    assert report.rebased
    assert report.segments_after < report.segments_before
    assert harness.audited(repo.root).is_clean
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")
    assert harness.index(repo.root).noop
    compact.compact(layout)
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")


def test_compaction_gives_way_to_a_reindex(repo: GitRepo):
    """SN-8: when the prefix it merged is gone, its work is too."""
    history(repo, 3)
    layout = harness.codebase(repo.root).layout
    with once_at("compact.publish", lambda: harness.index(repo.root, full=True)), pytest.raises(LeaseHeld):
        compact.compact(layout)
    assert harness.audited(repo.root).is_clean


@pytest.mark.slow
def test_compaction_happens_when_overdue(repo: GitRepo):
    """SN-8: 48 segments, by the sync that brings the 48th."""
    history(repo, maintenance_due.OVERDUE_SEGMENTS)
    assert maintenance.maintain_after_sync(harness.codebase(repo.root)).compacted
    with harness.view(repo.root) as view:
        assert len(view.manifest.segments) == 1
    assert harness.audited(repo.root).is_clean


def test_overdue_is_a_matter_of_counts(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """SN-8, IDX.MUST.007."""
    history(repo, 3)
    with harness.view(repo.root) as view:
        assert not maintenance_due.is_overdue(view.manifest)
        monkeypatch.setattr(maintenance_due, "OVERDUE_SEGMENTS", 3)
        assert maintenance_due.is_overdue(view.manifest)
        monkeypatch.undo()
        monkeypatch.setattr(maintenance_due, "OVERDUE_TOMBSTONES", 1)
        assert maintenance_due.is_overdue(view.manifest)


def test_repair_rebuilds_only_what_was_damaged(repo: GitRepo):
    """SN-11: the files of the damaged segment, nothing else; the other segments keep their place."""
    repo.commit("one", **{f"m{at}.py": f"M = {at}\n" for at in range(10)})
    harness.index(repo.root)
    repo.commit("two", **{"extra.py": "E = 1\n", "m0.py": "M = 'zero'\n"})
    harness.index(repo.root)
    layout = harness.codebase(repo.root).layout
    before = harness.digest_of(repo.root)
    with harness.view(repo.root) as view:
        first, second = (segment.id for segment in view.manifest.segments)
    facts = layout.facts(second)
    facts.write_bytes(facts.read_bytes()[:-1] + b"!")
    ran = harness.cli("repair", "--json", "--path", str(repo.root)).json
    assert (ran["scope"], ran["files_rebuilt"]) == ("files", 2)
    assert harness.digest_of(repo.root) == before
    with harness.view(repo.root) as view:
        kept = [segment.id for segment in view.manifest.segments]
    assert first in kept
    assert second not in kept
    assert harness.cli("repair", "--json", "--path", str(repo.root)).json["scope"] == "none"


def test_a_failed_sync_leaves_nothing_behind(repo: GitRepo):
    """SN-4, SN-5: staging is empty, the state says what happened, the snapshot is the old one."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    first = harness.index(repo.root)
    repo.commit("two", **{"A.py": "A = 2\n"})
    assert harness.cli("sync", "--path", str(repo.root)).code == 1
    layout = harness.codebase(repo.root).layout
    assert list(layout.staging.iterdir()) == []
    assert manifests.read_active_id(layout) == first.snapshot_id
    assert manifests.list_ids(layout) == [first.snapshot_id]
