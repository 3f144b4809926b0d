"""The error for an S3 server's refusal, by its status and code. Pure, and without boto3."""

from __future__ import annotations

from gitindex.errors import RemoteDenied, RemoteError, RemoteMissing, RemoteRedirected, RemoteUnavailable

_DENIED_CODES = {
    "AccessDenied",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
}
_NO_BUCKET = "NoSuchBucket"


def refusal_error(
    status: int, code: str, where: str, action: str, failure_type: type[RemoteError]
) -> RemoteError:
    """The error for an answer; `failure_type` is the class to use when the server itself fails."""
    description = f"{code or 'no code'}, status {status}"
    if code == _NO_BUCKET:
        return RemoteUnavailable(f"{where}: there is no such bucket", hint="check the URL and the endpoint")
    if status == 404:
        return RemoteMissing(f"{where}: no such object")
    if status in (401, 403) or code in _DENIED_CODES:
        return RemoteDenied(
            f"{where}: {action} was refused ({description})",
            hint=f"check the credentials and that they allow {action}",
            action=action,
        )
    if status >= 500 or status in (408, 429):
        return failure_type(f"{where}: the server failed ({description})", hint="try again")
    if 300 <= status < 400:
        return RemoteRedirected(
            f"{where}: the server redirects, which is not followed ({description})",
            hint="check the region and the endpoint",
        )
    return RemoteError(f"{where}: {action} failed ({description})", hint="check the remote's configuration")
