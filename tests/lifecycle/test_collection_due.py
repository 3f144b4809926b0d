"""A sync reads no manifest but the active one to find that no collection is due; a collection reads each once (SN-9)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gitindex.lifecycle import gc, maintenance_due
from gitindex.lifecycle.retention import KEEP_AT_LEAST, KEEP_YOUNGER_MS
from gitindex.model.ids import ulid
from gitindex.model.moment import Moment
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.maintenance import maintain_after_sync
from gitindex.store import clock, manifests, replaced
from tests.support import harness
from tests.support.gitrepo import GitRepo

SNAPSHOTS = 12
QUARTER = 3


@pytest.fixture
def codebase(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> Codebase:
    """A codebase with twelve snapshots, which count as many; all were replaced just now."""
    monkeypatch.setattr(maintenance_due, "MANY_SNAPSHOTS", 8)
    for number in range(SNAPSHOTS):
        repo.commit(f"c{number}", **{"a.py": f"def a(): return {number}\n"})
        harness.index(repo.root)
    return harness.codebase(repo.root)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each manifest was read, by snapshot id."""
    counter: Counter[str] = Counter()
    read = manifests.read

    def read_counted(layout, snapshot_id):
        counter[snapshot_id] += 1
        return read(layout, snapshot_id)

    monkeypatch.setattr(manifests, "read", read_counted)
    return counter


def long_ago() -> Moment:
    now = clock.read_clock()
    return replace(now, wall_ms=now.wall_ms - KEEP_YOUNGER_MS, boot_ms=now.boot_ms - KEEP_YOUNGER_MS)


def age_oldest(codebase: Codebase, count: int) -> None:
    """Record that the oldest snapshots were replaced ten minutes ago."""
    for snapshot_id in manifests.list_ids(codebase.layout)[-count:]:
        replaced.record_replaced_at(codebase.layout, snapshot_id, long_ago())


def test_young_snapshots_cost_a_sync_no_manifest(codebase: Codebase, reads: Counter[str]) -> None:
    """SN-8, SN-9: of twelve snapshots only the active manifest is read, and no lock of readers is needed."""
    assert not maintain_after_sync(codebase).collected
    assert reads == {manifests.read_active_id(codebase.layout): 1}
    assert len(manifests.list_ids(codebase.layout)) == SNAPSHOTS


def test_a_collection_reads_each_manifest_once(codebase: Codebase, reads: Counter[str]) -> None:
    """SN-9: the check for newer releases and the plan share what was read."""
    plan = gc.plan(codebase.layout, harness.LATER)
    assert len(plan.retained) == KEEP_AT_LEAST
    assert reads == dict.fromkeys(manifests.list_ids(codebase.layout), 1)


def test_a_sync_collects_by_quarters(codebase: Codebase, reads: Counter[str]) -> None:
    """SN-8, SN-9: syncs that follow each other make one snapshot removable each; not each of them collects."""
    age_oldest(codebase, QUARTER - 1)
    assert not maintain_after_sync(codebase).collected
    assert reads.total() == 1
    age_oldest(codebase, QUARTER)
    assert maintain_after_sync(codebase).collected
    assert len(manifests.list_ids(codebase.layout)) == SNAPSHOTS - QUARTER
    assert not maintain_after_sync(codebase).collected
    assert harness.audited(codebase.root).is_clean


def test_old_snapshots_are_collected_by_the_next_sync(codebase: Codebase) -> None:
    """SN-9: the newest five stay."""
    age_oldest(codebase, SNAPSHOTS - 1)
    assert maintain_after_sync(codebase).collected
    assert len(manifests.list_ids(codebase.layout)) == KEEP_AT_LEAST


def test_snapshots_ahead_of_the_clock_are_dated_once(codebase: Codebase) -> None:
    """SN-9: no clock keeps a snapshot for years; once gc has recorded a time, syncs leave it alone for ten minutes."""
    ahead = replace(clock.read_clock(), wall_ms=2**45, boot="an earlier start")
    for snapshot_id in manifests.list_ids(codebase.layout)[1:]:
        replaced.record_replaced_at(codebase.layout, snapshot_id, ahead)
    assert maintain_after_sync(codebase).collected
    assert len(manifests.list_ids(codebase.layout)) == SNAPSHOTS
    assert not maintain_after_sync(codebase).collected


def test_missing_records_leave_the_decision_to_the_collection(codebase: Codebase) -> None:
    """SN-9: an older release wrote none; the creation of the successor counts, which only its manifest tells."""
    for snapshot_id in manifests.list_ids(codebase.layout):
        codebase.layout.replaced_record(snapshot_id).unlink(missing_ok=True)
    assert maintain_after_sync(codebase).collected
    assert len(manifests.list_ids(codebase.layout)) == SNAPSHOTS


def test_the_oldest_quarter_of_many() -> None:
    """SN-8: newest first, so that one young snapshot at its top ends the search."""
    ids = [ulid(number) for number in range(maintenance_due.MANY_SNAPSHOTS + 4)]
    assert maintenance_due.select_oldest_share(reversed(ids)) == ids[:7][::-1]
    assert maintenance_due.select_oldest_share(ids[4:]) == []
