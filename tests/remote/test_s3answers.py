"""The error class that each answer of an S3 server becomes; the exit code and the hint follow from it."""

from __future__ import annotations

import pytest

from gitindex.errors import (
    OutcomeUnknown,
    RemoteDenied,
    RemoteError,
    RemoteMissing,
    RemoteRedirected,
    RemoteUnavailable,
)
from gitindex.remote.transports.s3answers import refusal_error


def refuse(status: int, code: str = "", failure_type: type[RemoteError] = OutcomeUnknown) -> RemoteError:
    return refusal_error(
        status=status, code=code, where="s3://b: k", action="s3:PutObject", failure_type=failure_type
    )


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (404, "NoSuchKey", RemoteMissing),
        (404, "NoSuchBucket", RemoteUnavailable),
        (401, "", RemoteDenied),
        (403, "", RemoteDenied),
        (400, "ExpiredToken", RemoteDenied),
        (400, "EntityTooLarge", RemoteError),
        (408, "", OutcomeUnknown),
        (429, "SlowDown", OutcomeUnknown),
        (499, "", RemoteError),
        (500, "InternalError", OutcomeUnknown),
        (503, "", OutcomeUnknown),
        (299, "", RemoteError),
        (300, "", RemoteRedirected),
        (399, "", RemoteRedirected),
        (400, "", RemoteError),
    ],
)
def test_status_and_code_choose_the_error(status: int, code: str, expected: type[RemoteError]):
    assert type(refuse(status, code)) is expected


def test_a_failed_read_changed_nothing():
    assert type(refuse(500, failure_type=RemoteUnavailable)) is RemoteUnavailable


def test_a_refusal_names_the_permission_to_grant():
    error = refuse(403, "AccessDenied")
    assert error.message == "s3://b: k: s3:PutObject was refused (AccessDenied, status 403)"
    assert error.hint == "check the credentials and that they allow s3:PutObject"
    assert error.detail["action"] == "s3:PutObject"
    assert "no code, status 403" in refuse(403).message
