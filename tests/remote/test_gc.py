"""Two-phase collection: what a kept manifest references survives everything (RE-7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitindex.errors import IntegrityError
from gitindex.remote import collection, collection_plan
from gitindex.remote.collection_plan import GRACE_SECONDS, Inventory, Mark
from gitindex.remote.transport import Entry
from gitindex.remote.upload import UploadOutcome
from tests.remote.made import FILES, NAMES, publish, receive, staged
from tests.remote.memory import MemoryTransport
from tests.trust.made import binding

DAY = GRACE_SECONDS
A, B = binding(), binding(commit="b" * 40)
OTHER = {**FILES, "manifest.json": b"other", "extra": b"only in B"}


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def transport(clock):
    return MemoryTransport(clock)


def manifest(bound) -> str:
    return NAMES.manifest_key(bound.config_fingerprint, bound.commit)


def run(transport, drop=frozenset()):
    inventory = collection.read_inventory(transport, NAMES)
    mark = collection.read_mark(transport, NAMES)
    plan = collection_plan.plan(
        inventory, mark, collection.read_remote_clock(transport, NAMES), drop=frozenset(drop)
    )
    return collection.collect(transport, NAMES, plan)


def test_two_phases_a_day_apart(transport, clock, tmp_path):
    claim, _ = publish(transport, tmp_path, bound=A)
    publish(transport, tmp_path, OTHER, bound=B)
    clock.now += 2 * DAY
    assert run(transport, {manifest(B)}).dropped == 1
    assert run(transport).deleted == 0
    clock.now += DAY - 10
    assert run(transport).deleted == 0
    clock.now += 11
    assert run(transport).deleted == 3  # B's manifest.json, extra and table of contents
    receive(transport, claim, tmp_path)
    assert staged(tmp_path) == FILES


def test_collection_on_every_remote(remote, tmp_path):
    """Real servers, real clocks: nothing is old enough, so nothing goes but the manifest asked for."""
    claim, _ = publish(remote.transport, tmp_path, bound=A)
    publish(remote.transport, tmp_path, OTHER, bound=B)
    done = run(remote.transport, {manifest(B)})
    assert (done.dropped, done.deleted, done.stale) == (1, 0, False)
    assert collection.read_mark(remote.transport, NAMES).keys == frozenset()
    inventory = collection.read_inventory(remote.transport, NAMES)
    assert set(inventory.manifests) == {manifest(A)}
    now = collection.read_remote_clock(remote.transport, NAMES) + 1
    marked = collection_plan.plan(inventory, None, now, grace=0.0)
    swept = collection_plan.plan(inventory, marked.mark, now + 1, grace=0.0)
    assert collection.collect(remote.transport, NAMES, swept).deleted == 3
    receive(remote.transport, claim, tmp_path)
    assert staged(tmp_path) == FILES


def test_an_interrupted_push_is_collected_in_the_end(transport, clock, tmp_path):
    publish(transport, tmp_path, manifest=False)
    for _ in range(3):
        clock.now += DAY + 1
        run(transport)
    assert list(transport.list(NAMES.objects_prefix)) == []


def test_a_publisher_rescues_condemned_objects(transport, clock, tmp_path):
    """The race of prune and backup: condemned, then needed again. The push rewrites, the sweep spares."""
    publish(transport, tmp_path, manifest=False)
    clock.now += 2 * DAY
    run(transport)
    mark = collection.read_mark(transport, NAMES)
    assert len(mark.keys) == len(FILES) + 1
    clock.now += DAY + 1
    inventory = collection.read_inventory(transport, NAMES)
    plan = collection_plan.plan(inventory, mark, collection.read_remote_clock(transport, NAMES))
    assert len(plan.sweep) == len(FILES) + 1
    _, sent = publish(transport, tmp_path, condemned=mark.keys, manifest=False)
    assert sent.objects[UploadOutcome.REPLACED] == len(FILES) + 1
    assert collection.collect(transport, NAMES, plan).deleted == 0


def test_a_manifest_that_appears_stops_the_sweep(transport, clock, tmp_path):
    publish(transport, tmp_path, manifest=False)
    clock.now += 2 * DAY
    run(transport)
    clock.now += DAY + 1
    plan = collection_plan.plan(
        collection.read_inventory(transport, NAMES),
        collection.read_mark(transport, NAMES),
        collection.read_remote_clock(transport, NAMES),
    )
    claim, _ = publish(transport, tmp_path)
    done = collection.collect(transport, NAMES, plan)
    assert (done.stale, done.deleted) == (True, 0)
    receive(transport, claim, tmp_path)


def test_an_unreadable_manifest_stops_everything(transport, clock, tmp_path):
    publish(transport, tmp_path)
    transport.put(manifest(B), b"junk")
    with pytest.raises(IntegrityError, match="cannot tell"):
        collection.read_inventory(transport, NAMES)


def test_a_manifest_without_its_toc_keeps_nothing_else(transport, clock, tmp_path):
    claim, _ = publish(transport, tmp_path)
    transport.delete(NAMES.object_key(claim.toc.sha256))
    inventory = collection.read_inventory(transport, NAMES)
    assert inventory.manifests == {manifest(A): frozenset({NAMES.object_key(claim.toc.sha256)})}


def test_a_malformed_mark_is_an_error(transport):
    transport.put(NAMES.mark_key, b'{"version":1}')
    with pytest.raises(IntegrityError):
        collection.read_mark(transport, NAMES)


KEYS = st.sampled_from([f"k{n}" for n in range(6)])
TIMES = st.integers(0, 5).map(lambda n: n * DAY / 2)


@given(
    manifests=st.dictionaries(st.sampled_from("xyz"), st.frozensets(KEYS)),
    modified=st.dictionaries(KEYS, TIMES),
    mark=st.none() | st.builds(Mark, TIMES, st.frozensets(KEYS)),
    drop=st.frozensets(st.sampled_from("xyz")),
    now=TIMES,
)
def test_plan_rules(manifests, modified, mark, drop, now):
    """G1, G2, G3 over every small world."""
    objects = tuple(Entry(key, 1, time) for key, time in modified.items())
    plan = collection_plan.plan(Inventory(manifests, objects), mark, now, drop=drop)
    kept = frozenset().union(*(keys for name, keys in manifests.items() if name not in drop))
    for entry in plan.sweep:
        assert entry.key not in kept
        assert mark is not None
        assert entry.key in mark.keys
        assert now - mark.time >= DAY
        assert entry.modified < mark.time
    if plan.mark is not None:
        assert not plan.mark.keys & kept
        assert all(now - modified[key] >= DAY for key in plan.mark.keys)
        assert collection_plan.decode_mark(collection_plan.encode_mark(plan.mark)) == plan.mark
    assert set(plan.drop) <= drop
