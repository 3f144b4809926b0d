"""Finding the nearest published commit (RE-3)."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from gitindex.errors import RemoteDenied, RemoteUnavailable
from gitindex.remote.probe import ManifestSearch
from gitindex.trust.envelope import MAX_ENVELOPE_BYTES
from tests.remote.made import IMPATIENT, NAMES
from tests.remote.memory import MemoryTransport

FINGERPRINT = "f" * 64
COMMITS = [f"{number:040x}" for number in range(200)]


class Scripted(MemoryTransport):
    """Counts questions; answers some commits with an error."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.listed = 0
        self.errors: dict[str, Exception] = {}
        self.no_list: Exception | None = None

    @contextmanager
    def open(self, key, *, offset=0):
        self.asked.append(key)
        if error := self.errors.get(key):
            raise error
        with super().open(key, offset=offset) as stream:
            yield stream

    def list(self, prefix):
        self.listed += 1
        if self.no_list:
            raise self.no_list
        return super().list(prefix)


def key(position: int) -> str:
    return NAMES.manifest_key(FINGERPRINT, COMMITS[position])


def search(transport) -> ManifestSearch:
    return ManifestSearch(transport, NAMES, FINGERPRINT, timeouts=IMPATIENT)


def positions(transport, commits=COMMITS) -> list[int]:
    return [found.position for found in search(transport).find_manifests(commits)]


def test_nearest_first_on_every_remote(remote):
    for position in (40, 3, 5):
        remote.transport.put(key(position), b"manifest %d" % position)
    found = list(search(remote.transport).find_manifests(COMMITS[:64]))
    assert [(one.position, one.commit, one.envelope) for one in found] == [
        (position, COMMITS[position], b"manifest %d" % position) for position in (3, 5, 40)
    ]


def test_no_more_is_asked_than_needed():
    transport = Scripted()
    transport.put(key(3), b"m")
    assert next(search(transport).find_manifests(COMMITS)).position == 3
    assert len(transport.asked) == 32


def test_list_replaces_probing_after_two_empty_batches():
    transport = Scripted()
    transport.put(key(150), b"m")
    assert positions(transport) == [150]
    assert len(transport.asked) == 65
    assert transport.listed == 1


def test_probing_goes_on_where_listing_is_refused():
    transport = Scripted()
    transport.put(key(150), b"m")
    transport.no_list = RemoteDenied("no")
    assert positions(transport) == [150]
    assert len(transport.asked) == 200


def test_nothing_published_is_an_empty_answer_and_is_not_remembered():
    transport = Scripted()
    one = search(transport)
    assert list(one.find_manifests(COMMITS)) == []
    transport.put(key(0), b"m")
    assert [found.position for found in one.find_manifests(COMMITS)] == [0]


def test_one_failing_probe_is_skipped():
    transport = Scripted()
    transport.put(key(0), b"m")
    transport.put(key(1), b"x" * (MAX_ENVELOPE_BYTES + 1))
    transport.put(key(9), b"m")
    transport.errors[key(0)] = RemoteUnavailable("hiccup")
    assert positions(transport) == [9]


def test_a_dead_server_is_named_after_one_batch():
    transport = Scripted()
    transport.errors = {key(position): RemoteUnavailable("down") for position in range(200)}
    with pytest.raises(RemoteUnavailable, match="down"):
        positions(transport)
    assert len(transport.asked) == 32


def test_one_403_is_absent_all_403_is_a_permission():
    """A missing key without s3:ListBucket is a 403."""
    transport = Scripted()
    transport.no_list = RemoteDenied("no")
    transport.errors = {key(position): RemoteDenied("403") for position in range(200)}
    with pytest.raises(RemoteDenied, match="ListBucket"):
        positions(transport)
    del transport.errors[key(100)]
    transport.put(key(100), b"m")
    assert positions(transport) == [100]
