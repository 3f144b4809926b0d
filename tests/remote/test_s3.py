"""What only S3 does: conditions, conflicts, refusals, lost answers, IAM."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace

import pytest

from gitindex.errors import OutcomeUnknown, RemoteDenied, RemoteUnavailable, UsageError
from gitindex.remote import upload
from gitindex.remote.connect import open_transport
from gitindex.remote.probe import ManifestSearch
from gitindex.remote.transport import PutOutcome, RemoteOptions, get
from gitindex.remote.transports import s3
from gitindex.remote.upload import PendingUpload, UploadOutcome
from tests.remote.faults import FaultProxy
from tests.remote.made import IMPATIENT, NAMES, publish
from tests.remote.servers import BUCKET, client
from tests.trust.made import binding

KEY = "v1/r0/obj/aa/thing"


@pytest.mark.parametrize("status", [304, 412])
def test_exists_in_two_spellings(faulty, status):
    proxy, transport = faulty
    proxy.add("status", method="PUT", status=status)
    assert transport.put_if_absent(KEY, b"new") is PutOutcome.EXISTS


def test_conflict_is_retried_by_us(moto_server, connect):
    """409: another conditional write is under way; botocore does not retry it."""
    with FaultProxy(moto_server.endpoint) as proxy:
        transport = connect(moto_server, endpoint=proxy.endpoint, attempts=3)
        proxy.add("status", method="PUT", status=409, times=2)
        assert transport.put_if_absent(KEY, b"new") is PutOutcome.CREATED
        assert get(transport, KEY, max_bytes=10) == b"new"


def test_lasting_conflict_is_settled_by_asking(faulty):
    proxy, transport = faulty
    proxy.add("status", method="PUT", status=409)
    with pytest.raises(OutcomeUnknown):
        transport.put_if_absent(KEY, b"new")
    proxy.rules.clear()
    transport.put(KEY, b"theirs")
    proxy.add("status", method="PUT", status=409)
    assert transport.put_if_absent(KEY, b"new") is PutOutcome.EXISTS


def test_without_conditional_writes_head_decides(faulty):
    """501: HEAD, then a plain PUT."""
    proxy, transport = faulty
    proxy.add("status", method="PUT", status=501, times=1)
    assert transport.put_if_absent(KEY, b"new") is PutOutcome.CREATED
    proxy.add("status", method="PUT", status=501, times=1)
    assert transport.put_if_absent(KEY, b"newer") is PutOutcome.EXISTS
    assert get(transport, KEY, max_bytes=10) == b"new"


@pytest.mark.parametrize("forward", [True, False])
def test_a_lost_answer_is_an_unknown_outcome(faulty, forward):
    proxy, transport = faulty
    proxy.add("reset", method="PUT", forward=forward)
    with pytest.raises(OutcomeUnknown):
        transport.put(KEY, b"new")
    assert (transport.head(KEY) is not None) == forward


@pytest.mark.parametrize("forward", [True, False])
def test_upload_settles_a_lost_answer_by_asking(faulty, forward):
    proxy, transport = faulty
    proxy.add("reset", method="PUT", forward=forward, times=1)
    done = upload.upload(transport, [PendingUpload(KEY, 3, b"new")], timeouts=IMPATIENT)
    assert done.objects[UploadOutcome.CREATED] == 1
    assert get(transport, KEY, max_bytes=10) == b"new"
    assert len([method for method, _ in proxy.requests if method == "PUT"]) == (1 if forward else 2)


def test_server_errors_on_reads_and_writes(faulty):
    proxy, transport = faulty
    proxy.add("status", status=503)
    proxy.add("status", method="PUT", status=500)
    with pytest.raises(RemoteUnavailable) as caught:
        get(transport, KEY, max_bytes=10)
    assert caught.value.exit_code == 6
    with pytest.raises(OutcomeUnknown):
        transport.put(KEY, b"new")


def test_nobody_listens(moto_server, connect):
    transport = connect(moto_server, endpoint="http://127.0.0.1:9", attempts=1)
    for call in (
        lambda: transport.head(KEY),
        lambda: transport.put(KEY, b"x"),
        lambda: list(transport.list("")),
    ):
        with pytest.raises(RemoteUnavailable):
            call()


def test_no_such_bucket_is_not_a_missing_object(moto_server, connect):
    connect(moto_server)
    options = RemoteOptions(moto_server.endpoint, attempts=1)
    with pytest.raises(RemoteUnavailable, match="no such bucket"):
        get(open_transport("s3://elsewhere/p", options), KEY, max_bytes=1)


def test_no_credentials_at_all(moto_server, connect, monkeypatch):
    connect(moto_server)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(RemoteDenied, match="credentials"):
        connect(replace(moto_server, access="", secret="")).head(KEY)


def test_wrong_secret_is_refused(rclone_server, connect):
    transport = connect(replace(rclone_server, secret="wrongsecret"), attempts=1)
    with pytest.raises(RemoteDenied):
        get(transport, KEY, max_bytes=1)


def test_unknown_certificate_is_refused(rclone_server, connect, monkeypatch):
    connect(rclone_server)
    monkeypatch.delenv("AWS_CA_BUNDLE")
    with pytest.raises(RemoteUnavailable, match=r"(?i)certificate"):
        connect(replace(rclone_server, ca_bundle=""), attempts=1).head(KEY)


def test_a_damaged_upload_is_refused_by_the_server(rclone_server, connect):
    """Content-MD5 travels with the bytes; rclone and AWS check it."""
    transport = connect(rclone_server, attempts=1)
    transport._client.meta.events.register(
        "before-call.s3.PutObject", lambda params, **_: params.update(body=b"bad")
    )
    with pytest.raises(Exception, match="BadDigest"):
        transport.put(KEY, b"new")
    assert transport.head(KEY) is None


@pytest.mark.parametrize(
    "url",
    [
        "s3://",
        "s3:///x",
        "s3://Bucket/x",
        "s3://key:secret@bucket/x",
        "s3://bucket/../x",
        "s3://bucket/a b",
        "s3://bucket/x?endpoint=evil",
        "http://bucket/x",
        "ftp://x",
        "file://host/x",
        "file:relative",
    ],
)
def test_bad_urls(url):
    with pytest.raises(UsageError):
        open_transport(url)


def test_parsed_urls():
    assert s3.parse_url("s3://bucket") == ("bucket", "")
    assert s3.parse_url("s3://my-bucket/team/index/") == ("my-bucket", "team/index/")


# -- IAM -------------------------------------------------------------------------------------------

READ, LIST, WRITE, DELETE = "s3:GetObject", "s3:ListBucket", "s3:PutObject", "s3:DeleteObject"


@pytest.fixture
def role(moto_server, connect):
    """A user with exactly the given actions, on a server that enforces them for the rest of the test."""
    from moto.core.authorization import enable_iam_authentication

    made = []
    enforced = ExitStack()
    iam = client(moto_server, "iam")

    def make(*actions, prefix):
        name = f"user{len(made)}"
        made.append(name)
        iam.create_user(UserName=name)
        allow = [
            {"Effect": "Allow", "Action": list(actions), "Resource": [f"arn:aws:s3:::{BUCKET}/*"]},
            *(
                [{"Effect": "Allow", "Action": LIST, "Resource": f"arn:aws:s3:::{BUCKET}"}]
                * (LIST in actions)
            ),
        ]
        policy = json.dumps({"Version": "2012-10-17", "Statement": allow})
        iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=policy)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        enforced.enter_context(enable_iam_authentication())
        user = replace(moto_server, access=key["AccessKeyId"], secret=key["SecretAccessKey"])
        return connect(user, prefix=prefix, attempts=1)

    yield make
    enforced.close()
    for name in made:
        iam.delete_user_policy(UserName=name, PolicyName="p")
        for key in iam.list_access_keys(UserName=name)["AccessKeyMetadata"]:
            iam.delete_access_key(UserName=name, AccessKeyId=key["AccessKeyId"])
        iam.delete_user(UserName=name)


def test_reader_cannot_write(moto_server, connect, role, tmp_path):
    publish(connect(moto_server, prefix="iam1"), tmp_path)
    reader = role(READ, LIST, prefix="iam1")
    assert list(ManifestSearch(reader, NAMES, "f" * 64).find_manifests(["a" * 40, binding().commit]))
    for call in (lambda: reader.put(KEY, b"x"), lambda: reader.put_if_absent(KEY, b"x")):
        with pytest.raises(RemoteDenied, match=WRITE):
            call()
    with pytest.raises(RemoteDenied, match=DELETE):
        reader.delete(KEY)


def test_publisher_cannot_delete(role, tmp_path):
    publisher = role(READ, LIST, WRITE, prefix="iam2")
    publish(publisher, tmp_path)
    with pytest.raises(RemoteDenied, match=DELETE) as caught:
        publisher.delete(NAMES.manifest_key("f" * 64, binding().commit))
    assert caught.value.exit_code == 6


def test_missing_list_permission_is_diagnosed(moto_server, connect, role, tmp_path):
    """All 403 is a permission error that names s3:ListBucket; one 403 is an absent commit."""
    publish(connect(moto_server, prefix="iam3"), tmp_path)
    blind = role(WRITE, prefix="iam3")
    with pytest.raises(RemoteDenied, match=LIST) as caught:
        list(ManifestSearch(blind, NAMES, "f" * 64).find_manifests([binding().commit, "a" * 40]))
    assert LIST in caught.value.hint
