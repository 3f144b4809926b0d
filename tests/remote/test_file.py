"""What only directories do: modes, half-written files, mounts that are not there."""

from __future__ import annotations

import os
import stat

import pytest

from gitindex.errors import RemoteDenied, RemoteMissing, RemoteUnavailable
from gitindex.remote.connect import open_transport
from gitindex.remote.transport import PutOutcome, get
from gitindex.remote.transports import file as files

KEY = "v1/r0/obj/aa/thing"


@pytest.fixture
def where(tmp_path):
    (tmp_path / "remote dir").mkdir()
    return tmp_path / "remote dir"


def test_url_with_spaces(where):
    transport = open_transport(where.as_uri())
    transport.put(KEY, b"x")
    assert (where / KEY).read_bytes() == b"x"


def test_modes_follow_the_umask(where):
    """A directory shared by a group must stay readable to the group."""
    before = os.umask(0o027)
    try:
        transport = open_transport(where.as_uri())
        transport.put_if_absent(KEY, b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((where / KEY).stat().st_mode) == 0o640


def test_a_crash_leaves_only_what_is_no_object(where):
    """Killed between writing and linking: the temporary file is never listed and never in the way."""
    transport = open_transport(where.as_uri())
    transport._stage(where / KEY, b"half")
    assert list(transport.list("v1/")) == []
    assert transport.put_if_absent(KEY, b"whole") is PutOutcome.CREATED
    assert [entry.key for entry in transport.list("v1/")] == [KEY]


def test_a_directory_that_cannot_be_made_is_named():
    """/proc is there and takes nothing: that no object is there would be no help."""
    with pytest.raises(RemoteDenied, match="cannot create /proc/nope: ") as refused:
        open_transport("file:///proc/nope").put_if_absent(KEY, b"x")
    assert refused.value.hint


def test_nothing_temporary_stays(where):
    transport = open_transport(where.as_uri())
    transport.put_if_absent(KEY, b"a")
    transport.put_if_absent(KEY, b"b")
    transport.put(KEY, b"c")
    assert os.listdir((where / KEY).parent) == ["thing"]
    with pytest.raises(RemoteMissing):
        transport.put("v1/r0/obj/bb/x", where / "no such source")
    assert os.listdir(where / "v1/r0/obj/bb") == []


def test_file_systems_without_hard_links(where, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    transport = open_transport(where.as_uri())
    assert transport.put_if_absent(KEY, b"x") is PutOutcome.CREATED
    assert transport.put_if_absent(KEY, b"y") is PutOutcome.EXISTS
    assert get(transport, KEY, max_bytes=1) == b"x"


def test_a_directory_that_is_not_mounted_is_unavailable_not_empty(tmp_path):
    (tmp_path / "a file").touch()
    for where in (tmp_path / "not mounted" / "remote", tmp_path / "a file"):
        transport = open_transport(where.as_uri())
        with pytest.raises(RemoteUnavailable):
            transport.head(KEY)
        with pytest.raises(RemoteUnavailable):
            list(transport.list("v1/"))


def test_a_new_directory_is_an_empty_remote(tmp_path):
    transport = open_transport((tmp_path / "new").as_uri())
    assert transport.head(KEY) is None
    assert list(transport.list("v1/")) == []
    assert transport.put_if_absent(KEY, b"x") is PutOutcome.CREATED


def test_refusals_have_a_name():
    error = files._translate_error(PermissionError(13, "Permission denied"), KEY)
    assert isinstance(error, RemoteDenied)
    assert isinstance(files._translate_error(OSError(5, "Input/output error"), KEY), RemoteUnavailable)
