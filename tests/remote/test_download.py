"""Downloading: capped, hashed, resumed, and honest under every fault (RE-3, RE-6)."""

from __future__ import annotations

import random
import threading
from contextlib import contextmanager

import pytest

from gitindex.errors import ChecksumMismatch, GitindexError, RemoteMissing, RemoteUnavailable, StorageFull
from gitindex.remote import download as downloads
from gitindex.remote import stored_objects
from gitindex.remote.download import PendingDownload, download
from gitindex.remote.transport import RemoteStream, Timeouts
from tests.remote.made import FILES, IMPATIENT, NAMES, publish, receive, staged
from tests.remote.memory import MemoryTransport

DATA = random.Random(6).randbytes(200_000)


def stored(transport, data=DATA) -> PendingDownload:
    packed, body = stored_objects.pack_bytes(data)
    transport.put(NAMES.object_key(packed.sha256), body)
    return PendingDownload(NAMES.object_key(packed.sha256), packed, ())


def at(wanted: PendingDownload, *paths) -> PendingDownload:
    return PendingDownload(wanted.key, wanted.packed, tuple(paths))


def test_a_snapshot_arrives_whole(remote, tmp_path):
    claim, _ = publish(remote.transport, tmp_path)
    receive(remote.transport, claim, tmp_path)
    assert staged(tmp_path) == FILES
    assert list((tmp_path / "partials").iterdir()) == []


def test_one_object_for_many_files_travels_once(tmp_path):
    transport = MemoryTransport()
    one = at(stored(transport), tmp_path / "a", tmp_path / "deep" / "b")
    assert download(transport, [one], tmp_path / "partials") == one.packed.size
    assert (tmp_path / "a").read_bytes() == (tmp_path / "deep" / "b").read_bytes() == DATA


def test_resumes_what_an_earlier_run_left(remote, tmp_path):
    one = at(stored(remote.transport), tmp_path / "a")
    with remote.transport.open(one.key) as stream:
        body = b"".join(stream.chunks)
    (tmp_path / "partials").mkdir()
    (tmp_path / "partials" / one.packed.sha256).write_bytes(body[:100])
    seen = []
    received = download(remote.transport, [one], tmp_path / "partials", on_progress=seen.append)
    assert received == one.packed.size - 100
    assert (tmp_path / "a").read_bytes() == DATA
    assert seen[-1] == (1, 1, one.packed.size, one.packed.size)


@pytest.mark.parametrize("left", [b"garbage", b"x" * 100_000])
def test_a_damaged_partial_costs_a_second_try_only(tmp_path, left):
    transport = MemoryTransport()
    one = at(stored(transport), tmp_path / "a")
    (tmp_path / "partials").mkdir()
    (tmp_path / "partials" / one.packed.sha256).write_bytes(left)
    download(transport, [one], tmp_path / "partials", timeouts=IMPATIENT)
    assert (tmp_path / "a").read_bytes() == DATA


class IgnoresRanges(MemoryTransport):
    """A server that always sends the whole object."""

    @contextmanager
    def open(self, key, *, offset=0):
        with super().open(key) as stream:
            yield stream


def test_a_server_that_ignores_ranges(tmp_path):
    """The whole object comes once and replaces what was there."""
    transport = IgnoresRanges()
    one = at(stored(transport), tmp_path / "a")
    (tmp_path / "partials").mkdir()
    (tmp_path / "partials" / one.packed.sha256).write_bytes(transport.objects[one.key][0][:50])
    assert download(transport, [one], tmp_path / "partials", timeouts=IMPATIENT) == one.packed.size
    assert (tmp_path / "a").read_bytes() == DATA


@pytest.mark.parametrize("attack", ["flip", "swap", "truncate", "pad", "empty"])
def test_tampered_objects_are_refused(remote, tmp_path, attack):
    """Attack list: nothing of it reaches a destination, nothing bad is kept for the next run; exit 4."""
    claim, _ = publish(remote.transport, tmp_path)
    keys = [entry.key for entry in remote.transport.list(NAMES.objects_prefix)]
    target = next(key for key in keys if not key.endswith(claim.toc.sha256))
    with remote.transport.open(target) as stream:
        body = b"".join(stream.chunks)
    bad = {
        "flip": body[:9] + bytes([body[9] ^ 4]) + body[10:],
        "swap": stored_objects.pack_bytes(b"other content")[1],
        "truncate": body[:-1],
        "pad": body + b"\0",
        "empty": b"",
    }[attack]
    remote.transport.put(target, bad)
    with pytest.raises(ChecksumMismatch) as caught:
        receive(remote.transport, claim, tmp_path)
    assert caught.value.exit_code == 4
    assert all(FILES[path] == data for path, data in staged(tmp_path).items())
    remote.transport.put(target, body)
    receive(remote.transport, claim, tmp_path)
    assert staged(tmp_path) == FILES


def test_missing_object_and_missing_toc(remote, tmp_path):
    claim, _ = publish(remote.transport, tmp_path)
    keys = [entry.key for entry in remote.transport.list(NAMES.objects_prefix)]
    remote.transport.delete(next(key for key in keys if not key.endswith(claim.toc.sha256)))
    with pytest.raises(RemoteMissing):
        receive(remote.transport, claim, tmp_path)
    remote.transport.delete(NAMES.object_key(claim.toc.sha256))
    with pytest.raises(GitindexError, match="gone") as caught:
        receive(remote.transport, claim, tmp_path)
    assert caught.value.exit_code == 4


class Endless(MemoryTransport):
    """Promises no size and never ends."""

    @contextmanager
    def open(self, key, *, offset=0):
        yield RemoteStream(offset, None, iter(lambda: b"\0" * 65536, None))


def test_an_endless_body_is_cut_at_the_signed_size(tmp_path):
    one = at(stored(MemoryTransport()), tmp_path / "a")
    with pytest.raises(ChecksumMismatch, match="longer than"):
        download(Endless(), [one], tmp_path / "partials", timeouts=IMPATIENT)
    assert (tmp_path / "partials" / one.packed.sha256).stat().st_size <= one.packed.size


def test_the_first_wrong_object_stops_the_rest(tmp_path):
    transport = MemoryTransport()
    wanted = [at(stored(transport, b"%d" % n * 50), tmp_path / str(n)) for n in range(50)]
    bad = max(wanted, key=lambda one: one.packed.size)
    transport.put(bad.key, b"\0" * bad.packed.size)
    with pytest.raises(ChecksumMismatch):
        download(transport, wanted, tmp_path / "partials", threads=1)
    assert len(list(tmp_path.glob("[0-9]*"))) < 50


def test_disk_space_is_checked_before_the_first_byte(tmp_path):
    transport = MemoryTransport()
    one = stored(transport)
    huge = PendingDownload(
        one.key, stored_objects.PackedArtifact(one.packed.sha256, 2**60, "0" * 64, 2**60), (tmp_path / "a",)
    )
    with pytest.raises(StorageFull):
        download(transport, [huge], tmp_path / "partials")
    assert list((tmp_path / "partials").iterdir()) == []


def test_stuck_workers_are_left_behind(tmp_path, monkeypatch):
    """A server that drips headers holds a thread in a socket; the caller still returns."""
    release = threading.Event()

    class Stuck(MemoryTransport):
        @contextmanager
        def open(self, key, *, offset=0):
            release.wait()
            yield RemoteStream(0, 0, iter(()))

    monkeypatch.setattr(downloads.pool, "_GRACE_SECONDS", 0.01)
    one = at(stored(MemoryTransport()), tmp_path / "a")
    timeouts = Timeouts(attempts=1, object_seconds=0.02, bytes_per_second=10**9)
    with pytest.raises(RemoteUnavailable, match="did not answer"):
        download(Stuck(), [one], tmp_path / "partials", timeouts=timeouts)
    release.set()


# -- through the fault proxy ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        {"action": "status", "status": 500, "times": 1},
        {"action": "status", "status": 503, "times": 2},
        {"action": "reset", "times": 1},
        {"action": "cut", "times": 2},
        {"action": "hang", "times": 1},
    ],
    ids=lambda fault: fault["action"] + str(fault.get("status", "")),
)
def test_passing_faults_are_survived(faulty, tmp_path, fault):
    proxy, transport = faulty
    one = at(stored(transport), tmp_path / "a")
    proxy.add(**fault)
    assert download(transport, [one], tmp_path / "partials", timeouts=IMPATIENT) == one.packed.size
    assert (tmp_path / "a").read_bytes() == DATA


def test_a_cut_body_is_continued_not_repeated(faulty, tmp_path):
    proxy, transport = faulty
    one = at(stored(transport), tmp_path / "a")
    proxy.add("cut", times=1)
    assert download(transport, [one], tmp_path / "partials", timeouts=IMPATIENT) == one.packed.size


@pytest.mark.parametrize("action", ["status", "reset", "cut"])
def test_lasting_faults_are_unavailability(faulty, tmp_path, action):
    """Exit 6, local destinations untouched, and the next run succeeds: nothing negative was kept."""
    proxy, transport = faulty
    one = at(stored(transport), tmp_path / "a")
    proxy.add(action)
    with pytest.raises(RemoteUnavailable) as caught:
        download(transport, [one], tmp_path / "partials", timeouts=IMPATIENT)
    assert caught.value.exit_code == 6
    assert not (tmp_path / "a").exists()
    proxy.rules.clear()
    download(transport, [one], tmp_path / "partials", timeouts=IMPATIENT)
    assert (tmp_path / "a").read_bytes() == DATA


@pytest.mark.parametrize("action", ["short", "corrupt", "pad"])
def test_wrong_bytes_on_the_way_are_integrity_errors(faulty, tmp_path, action):
    proxy, transport = faulty
    one = at(stored(transport), tmp_path / "a")
    proxy.add(action)
    with pytest.raises(ChecksumMismatch):
        download(transport, [one], tmp_path / "partials", timeouts=IMPATIENT)
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "partials" / one.packed.sha256).exists() or action != "corrupt"


def test_a_slow_drip_meets_our_own_deadline(faulty, tmp_path):
    """Each byte arrives within the socket's time-out; only the object's deadline ends it."""
    proxy, transport = faulty
    one = at(stored(transport), tmp_path / "a")
    proxy.add("slow")
    timeouts = Timeouts(attempts=3, back_off=0.0, object_seconds=0.2, bytes_per_second=10**9)
    with pytest.raises(RemoteUnavailable, match="too slow"):
        download(transport, [one], tmp_path / "partials", timeouts=timeouts)
    assert not (tmp_path / "a").exists()
