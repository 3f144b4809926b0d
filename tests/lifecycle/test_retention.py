"""Retention counts from when a snapshot was replaced, whatever the wall clock does (SN-9)."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitindex.lifecycle import gc, retention
from gitindex.lifecycle.retention import KEEP_AT_LEAST, KEEP_YOUNGER_MS, SnapshotEntry
from gitindex.model.ids import creation_ms, ulid
from gitindex.model.moment import Moment, elapsed_ms
from gitindex.store import clock, manifests, replaced
from gitindex.store.layout import Layout
from tests.support import harness
from tests.support.gitrepo import GitRepo

MINUTE = 60_000
DAY = 24 * 60 * MINUTE

# One event of a store's life: so much time passes, the wall clock is set by so much, the machine starts again.
events = st.tuples(
    st.integers(0, 2 * DAY),
    st.one_of(st.just(0), st.integers(-400 * DAY, 4000 * DAY)),
    st.booleans(),
)


class World:
    """True time, and the two clocks a machine shows of it."""

    def __init__(self) -> None:
        self.true_ms = 2_000 * DAY
        self._shift = 0
        self._boot = 0
        self._booted_at = self.true_ms

    def live(self, event: tuple[int, int, bool]) -> None:
        passed, shift, restart = event
        self.true_ms += passed
        self._shift += shift
        if restart:
            self._boot += 1
            self._booted_at = self.true_ms

    def read(self) -> Moment:
        return Moment(self.true_ms + self._shift, f"boot {self._boot}", self.true_ms - self._booted_at)

    @property
    def boot(self) -> int:
        return self._boot


@given(st.lists(events, min_size=1, max_size=25), events)
def test_no_clock_takes_what_was_replaced_just_now(history: list[tuple[int, int, bool]], after):
    """SN-9: within one run of the machine exactly ten minutes of true time count; the active one and the newest five
    stay in any case. A restart ends every reader, so there the wall clock may decide."""
    world = World()
    snapshots: list[SnapshotEntry] = []
    truth: list[tuple[int, int]] = []  # when each was replaced, and in which run of the machine
    for number, event in enumerate(history):
        world.live(event)
        if snapshots:
            snapshots[-1] = replace(snapshots[-1], replaced=world.read())
            truth.append((world.true_ms, world.boot))
        snapshots.append(SnapshotEntry(ulid(number)))
    world.live(after)
    active = snapshots[-1].id
    kept = retention.find_retained(snapshots, active, world.read())
    assert active in kept
    assert {one.id for one in snapshots[-KEEP_AT_LEAST:]} <= kept
    for snapshot, (when, boot) in zip(snapshots[:-KEEP_AT_LEAST], truth, strict=False):
        if boot == world.boot:
            assert (snapshot.id in kept) == (world.true_ms - when < KEEP_YOUNGER_MS)
    assert retention.find_retained(reversed(snapshots), active, world.read()) == kept


@given(st.lists(events, min_size=7, max_size=20), st.lists(events, max_size=4))
def test_nothing_is_kept_for_years(history: list[tuple[int, int, bool]], between):
    """SN-9: whatever the clocks showed, two collections that are ten minutes of one run apart leave five."""
    world = World()
    snapshots: list[SnapshotEntry] = []
    for number, event in enumerate(history):
        world.live(event)
        if snapshots:
            snapshots[-1] = replace(snapshots[-1], replaced=world.read())
        snapshots.append(SnapshotEntry(ulid(number)))
    for event in between:
        world.live(event)
    active = snapshots[-1].id
    undated = retention.find_undated(snapshots, active, world.read())
    snapshots = [replace(one, replaced=world.read()) if one.id in undated else one for one in snapshots]
    world.live((KEEP_YOUNGER_MS, 0, False))
    assert len(retention.find_retained(snapshots, active, world.read())) == KEEP_AT_LEAST


@given(st.integers(0, 2**45), st.integers(0, 2**45), st.booleans())
def test_elapsed_time_is_never_negative(since: int, now: int, known: bool):
    """SN-9: what lies ahead of the clock happened just now."""
    boot = "one" if known else ""
    passed = elapsed_ms(Moment(now, boot, since), Moment(since, boot, now))
    assert passed == (max(0, now - since) if known else max(0, since - now))


def test_what_was_never_active_is_not_kept():
    """SN-9, SN-4: above the active one only what was active before (a build area goes back to an earlier build)."""
    ids = [ulid(number) for number in range(4)]
    now = Moment(0, "b", 10)
    dead = SnapshotEntry(ids[3])
    earlier = SnapshotEntry(ids[2], now)
    kept = retention.find_retained(
        [SnapshotEntry(ids[0], now), SnapshotEntry(ids[1]), earlier, dead], ids[1], now
    )
    assert kept == set(ids[:3])


def history(repo: GitRepo, count: int) -> Layout:
    for at in range(count):
        repo.commit(f"c{at}", **{"a.py": f"def a(): return {at}\n"})
        harness.index(repo.root)
    return harness.codebase(repo.root).layout


def shifted(wall_ms: int, boot_ms: int = 0) -> Moment:
    now = clock.read_clock()
    return replace(now, wall_ms=now.wall_ms + wall_ms, boot_ms=now.boot_ms + boot_ms)


def set_replaced(layout: Layout, snapshot_id: str, at: Moment) -> None:
    replaced.record_replaced_at(layout, snapshot_id, at)


def test_a_publish_notes_what_it_replaces(repo: GitRepo):
    """SN-9: every snapshot but the active one has its time, in order, by this machine's clock."""
    before = clock.read_clock()
    layout = history(repo, 4)
    active, *older = manifests.list_ids(layout)
    assert replaced.read_replaced_at(layout, active) is None
    times = [replaced.read_replaced_at(layout, name) for name in reversed(older)]
    assert all(found is not None for found in times)
    assert [found.boot_ms for found in times if found] == sorted(found.boot_ms for found in times if found)
    assert all(elapsed_ms(before, found) >= 0 and found.boot == before.boot for found in times if found)


def test_a_long_life_ends_with_ten_minutes(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """SN-9: all were made a day ago by their ids, and replaced one after the other within this minute."""
    real = time.time_ns
    with monkeypatch.context() as yesterday:
        yesterday.setattr(time, "time_ns", lambda: real() - DAY * 1_000_000)
        layout = history(repo, 9)
    assert all(creation_ms(name) < real() // 1_000_000 - DAY // 2 for name in manifests.list_ids(layout))
    ran = harness.cli("gc", "--json", "--path", str(repo.root))
    assert (ran.code, len(ran.json["kept"])) == (0, 9)
    assert len(gc.collect(layout, now=shifted(0, 10 * MINUTE)).plan.retained) == KEEP_AT_LEAST
    assert harness.audited(repo.root).is_clean


def test_the_clock_goes_back_two_hours(repo: GitRepo):
    """SN-9: everything that is young stays; it is collected after ten minutes, not after two hours."""
    layout = history(repo, 7)
    assert len(gc.collect(layout, now=shifted(-120 * MINUTE)).plan.retained) == 7
    assert len(gc.collect(layout, now=shifted(-110 * MINUTE, 10 * MINUTE)).plan.retained) == KEEP_AT_LEAST


def test_the_clock_goes_far_ahead(repo: GitRepo):
    """SN-9: years on the wall clock within seconds of this machine collect nothing; so do a restart in between and a
    clock that was put right."""
    layout = history(repo, 7)
    assert len(gc.collect(layout, now=shifted(4000 * DAY)).plan.retained) == 7
    ahead = replace(shifted(4000 * DAY), boot="an earlier start")
    for name in manifests.list_ids(layout)[1:]:
        set_replaced(layout, name, ahead)
    assert len(gc.collect(layout).plan.retained) == 7
    assert len(gc.collect(layout, now=shifted(10 * MINUTE, 10 * MINUTE)).plan.retained) == KEEP_AT_LEAST


def test_a_store_of_an_older_release(repo: GitRepo):
    """SN-9: without notes the successor's time counts; one that lies ahead of the clock is noted now."""
    layout = history(repo, 7)
    for name in manifests.list_ids(layout):
        layout.replaced_record(name).unlink(missing_ok=True)
    assert len(gc.plan(layout, shifted(9 * MINUTE)).retained) == 7
    assert len(gc.plan(layout, shifted(11 * MINUTE)).retained) == KEEP_AT_LEAST
    assert len(gc.collect(layout, now=shifted(-120 * MINUTE)).plan.retained) == 7
    assert all(replaced.read_replaced_at(layout, name) for name in manifests.list_ids(layout)[1:])
    later = shifted(-110 * MINUTE, 10 * MINUTE)
    assert len(gc.collect(layout, now=later).plan.retained) == KEEP_AT_LEAST


def test_a_damaged_note_says_nothing(repo: GitRepo):
    """SN-9: torn by a crash of the machine, or not ours."""
    layout = history(repo, 7)
    bad = [b"", b"{", b"[]", b'{"wall_ms": "1"}', b'{"wall_ms": true, "boot": 1}', b'{"other": 1}']
    for name, content in zip(manifests.list_ids(layout)[1:], bad, strict=True):
        layout.replaced_record(name).write_bytes(content)
        assert replaced.read_replaced_at(layout, name) is None
    assert len(gc.plan(layout, clock.read_clock()).retained) == 7
