"""One contract for every transport: memory, file, rclone over TLS, moto (RE-7)."""

from __future__ import annotations

import threading

import pytest

from gitindex.errors import ChecksumMismatch, RemoteMissing, UsageError
from gitindex.remote.transport import Entry, PutOutcome, get

KEY = "v1/r0/obj/aa/thing"


def test_put_get_head(remote):
    assert remote.transport.put_if_absent(KEY, b"content") is PutOutcome.CREATED
    assert get(remote.transport, KEY, max_bytes=100) == b"content"
    found = remote.transport.head(KEY)
    assert isinstance(found, Entry)
    assert (found.key, found.size) == (KEY, 7)
    assert found.modified > 1_600_000_000


def test_content_from_a_file_and_empty_content(remote, tmp_path):
    source = tmp_path / "source"
    source.write_bytes(bytes(range(256)) * 4000)
    assert remote.transport.put_if_absent(KEY, source) is PutOutcome.CREATED
    assert get(remote.transport, KEY, max_bytes=2**21) == source.read_bytes()
    remote.transport.put(KEY, b"")
    assert get(remote.transport, KEY, max_bytes=0) == b""


def test_missing(remote):
    assert remote.transport.head(KEY) is None
    with pytest.raises(RemoteMissing):
        get(remote.transport, KEY, max_bytes=10)
    remote.transport.delete(KEY)
    assert list(remote.transport.list("v1/")) == []


def test_create_only_says_which_bytes_are_there(remote):
    """A server without conditional writes replaces and says CREATED; the answer is never wrong."""
    remote.transport.put(KEY, b"old")
    outcome = remote.transport.put_if_absent(KEY, b"new")
    assert get(remote.transport, KEY, max_bytes=10) == (b"old" if outcome is PutOutcome.EXISTS else b"new")
    if remote.conditional:
        assert outcome is PutOutcome.EXISTS


def test_put_replaces(remote):
    remote.transport.put(KEY, b"old")
    remote.transport.put(KEY, b"newer")
    assert get(remote.transport, KEY, max_bytes=10) == b"newer"


@pytest.mark.parametrize("offset", [1, 5, 6])
def test_resume_from_an_offset(remote, offset):
    remote.transport.put(KEY, b"content")
    with remote.transport.open(KEY, offset=offset) as stream:
        assert (stream.offset, stream.total) == (offset, 7)
        assert b"".join(stream.chunks) == b"content"[offset:]


def test_beyond_the_end_is_empty(remote):
    remote.transport.put(KEY, b"content")
    with remote.transport.open(KEY, offset=7) as stream:
        assert b"".join(stream.chunks) == b""


def test_list_is_by_prefix_in_order(remote):
    for name in ("v1/r0/man/b", "v1/r0/man/a", "v1/r0/obj/c", "v1/r00/man/d"):
        remote.transport.put(name, name.encode())
    assert [entry.key for entry in remote.transport.list("v1/r0/man/")] == ["v1/r0/man/a", "v1/r0/man/b"]
    assert [entry.key for entry in remote.transport.list("v1/r0/")] == [
        "v1/r0/man/a",
        "v1/r0/man/b",
        "v1/r0/obj/c",
    ]
    assert [entry.size for entry in remote.transport.list("v1/r00/")] == [12]


def test_delete(remote):
    remote.transport.put(KEY, b"content")
    remote.transport.delete(KEY)
    assert remote.transport.head(KEY) is None


def test_get_is_capped(remote):
    remote.transport.put(KEY, b"x" * 1000)
    assert len(get(remote.transport, KEY, max_bytes=1000)) == 1000
    with pytest.raises(ChecksumMismatch):
        get(remote.transport, KEY, max_bytes=999)


UNSAFE = [
    *("", "/etc/passwd", "../x", "a/../b", "a//b", "a/", ".hidden"),
    *("a/.new-1", "a b", "a\n", "ä", "a" * 600),
]


def test_unsafe_keys_never_leave(remote):
    for key in UNSAFE:
        for call in (remote.transport.head, remote.transport.delete):
            with pytest.raises(UsageError):
                call(key)
        with pytest.raises(UsageError):
            remote.transport.put(key, b"")
        with pytest.raises(UsageError):
            get(remote.transport, key, max_bytes=1)


def test_concurrent_creation_has_one_whole_winner(remote):
    contents = [bytes([number]) * 50_000 for number in range(4)]
    outcomes = []
    work = [
        threading.Thread(target=lambda c=c: outcomes.append(remote.transport.put_if_absent(KEY, c)))
        for c in contents
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert get(remote.transport, KEY, max_bytes=50_000) in contents
    if remote.conditional:
        assert outcomes.count(PutOutcome.CREATED) == 1
