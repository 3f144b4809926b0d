"""RE-3, RE-7: plain signed reads say exactly what boto3 says, and leave to it what they cannot settle."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from unittest import mock

import pytest

from gitindex.errors import RemoteDenied, RemoteMissing, RemoteUnavailable
from gitindex.remote.transport import get
from gitindex.remote.transports import s3signed, signature
from gitindex.remote.transports.signature import StaticCredentials
from tests.remote.faults import FaultProxy, Rule

KEY = "v1/obj/aa/bb"
ENDPOINT = "http://localhost:9"
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}


@pytest.mark.parametrize("token", ["", "a-session-token"])
def test_signatures_equal_botocores(token):
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    now = datetime(2026, 11, 16, 12, 30, 1, tzinfo=UTC)
    path = "/bucket/team/v1/obj/aa/0123.json"
    ours = signature.sign_headers(
        StaticCredentials("key", "secret", token, "eu-west-3"), "localhost:9000", path, now
    )
    empty = {"X-Amz-Content-SHA256": ours["x-amz-content-sha256"]}
    request = AWSRequest("GET", f"http://localhost:9000{path}", headers=empty)
    with mock.patch("botocore.auth.get_current_datetime", return_value=now.replace(tzinfo=None)):
        S3SigV4Auth(Credentials("key", "secret", token or None), "s3", "eu-west-3").add_auth(request)
    assert ours["Authorization"] == request.headers["Authorization"]


@pytest.mark.parametrize(
    "unusual",
    [
        {"AWS_PROFILE": "work"},
        {"HTTPS_PROXY": "http://proxy:3128"},
        {"http_proxy": "http://proxy:3128"},
        {"AWS_USE_FIPS_ENDPOINT": "true"},
        {"AWS_SECRET_ACCESS_KEY": ""},
    ],
)
def test_anything_unusual_is_left_to_boto3(unusual):
    assert signature.read_credentials({**KEYS, **unusual}, ENDPOINT) is None
    assert signature.read_credentials(KEYS, "") is None
    found = signature.read_credentials(
        {**KEYS, "AWS_REGION": "eu-west-1", "AWS_CA_BUNDLE": "ca.pem"}, ENDPOINT
    )
    assert found == StaticCredentials("key", "secret", "", "eu-west-1", "ca.pem")
    assert "secret" not in repr(found)


def test_reading_needs_no_boto3(rclone_server, connect, monkeypatch):
    """UI-3: neither for an object that is there nor for one that is not, over TLS."""
    connect(rclone_server, prefix="cold").put(KEY, b"bytes")
    for name in [name for name in sys.modules if name.split(".")[0] in ("boto3", "botocore")]:
        monkeypatch.delitem(sys.modules, name)
    transport = connect(rclone_server, prefix="cold", signed=True)
    assert get(transport, KEY, max_bytes=100) == b"bytes"
    with pytest.raises(RemoteMissing):
        get(transport, KEY + "c", max_bytes=100)
    assert "boto3" not in sys.modules


def test_wrong_secret_and_unknown_certificate(rclone_server, connect, monkeypatch):
    with pytest.raises(RemoteDenied):
        get(connect(replace(rclone_server, secret="wrong"), signed=True), KEY, max_bytes=10)
    monkeypatch.delenv("AWS_CA_BUNDLE")
    with pytest.raises(RemoteUnavailable):
        get(connect(replace(rclone_server, ca_bundle=""), signed=True, attempts=1), KEY, max_bytes=10)


def test_no_such_bucket_and_nobody_there(moto_server, connect):
    static = StaticCredentials("key", "secret", "", "us-east-1")
    options = mock.Mock(endpoint=moto_server.endpoint, attempts=1, connect_timeout=1.0, read_timeout=1.0)
    with pytest.raises(RemoteUnavailable, match="no such bucket"):
        s3signed.SignedReader("s3://missing-bucket/x", static, options).open_body(KEY, 0)
    nobody = connect(moto_server, endpoint="http://127.0.0.1:9", signed=True, attempts=2)
    with pytest.raises(RemoteUnavailable, match="refused"):
        get(nobody, KEY, max_bytes=10)


def test_passing_failures_are_retried(moto_server, connect):
    connect(moto_server, prefix="busy").put(KEY, b"bytes")
    for action in ("status", "reset"):
        with FaultProxy(moto_server.endpoint) as proxy:
            transport = connect(moto_server, endpoint=proxy.endpoint, prefix="busy", signed=True, attempts=3)
            proxy.rules.append(Rule(action, method="GET", times=2))
            assert get(transport, KEY, max_bytes=10) == b"bytes"


def test_connections_are_kept_and_shared(rclone_server, connect):
    """Sixteen threads, one transport: every body is the one asked for."""
    transport = connect(rclone_server, prefix="many", signed=True)
    for number in range(16):
        transport.put(f"k{number}", bytes([number]) * (number * 50_000 + 1))
    wrong: list[int] = []

    def read(number: int) -> None:
        for _ in range(4):
            if get(transport, f"k{number}", max_bytes=10**6) != bytes([number]) * (number * 50_000 + 1):
                wrong.append(number)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert 1 <= len(transport._reader._idle_connections) <= 16


def test_an_odd_answer_is_settled_by_boto3(moto_server, connect):
    """A redirect or a malformed request says nothing about the object."""
    connect(moto_server, prefix="odd").put(KEY, b"bytes")
    with FaultProxy(moto_server.endpoint) as proxy:
        transport = connect(moto_server, endpoint=proxy.endpoint, prefix="odd", signed=True)
        proxy.rules.append(Rule("status", method="GET", times=1, status=400))
        assert get(transport, KEY, max_bytes=10) == b"bytes"
        assert not transport._signed_reads_work
