"""`s3://` remotes on any S3-compatible server; the only module that imports boto3.

Correctness never depends on conditional writes (rclone ignores them, others answer 501): an object's key names its
content, so replacing it by itself is harmless. boto3 returns truncated, padded and corrupted bodies as success; the
caller must check them. A write whose answer was lost is OutcomeUnknown.

Every request has a deadline, and so has a listing as a whole (EN-8). Redirects are not followed, except between the
regions of AWS itself (RE-10).
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from gitindex.errors import (
    OutcomeUnknown,
    RemoteDenied,
    RemoteError,
    RemoteMisbehaves,
    RemoteMissing,
    RemoteTooSlow,
    RemoteUnavailable,
    UsageError,
)
from gitindex.remote import pool
from gitindex.remote.transport import (
    Content,
    Entry,
    PutOutcome,
    RemoteOptions,
    RemoteStream,
    Timeouts,
    validate_key,
)
from gitindex.remote.transports.s3answers import refusal_error
from gitindex.remote.transports.s3pages import Pages

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

_CHUNK = 256 * 1024
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_EXISTS = {304, 412}
_CONFLICT = 409  # another conditional write is under way; botocore does not retry it
_NOT_IMPLEMENTED = 501
_OUT_OF_RANGE = 416
_CONDITION_STATUSES = {*_EXISTS, _CONFLICT, _NOT_IMPLEMENTED, _OUT_OF_RANGE}
_AWS_SUFFIXES = (".amazonaws.com", ".amazonaws.com.cn")
R = TypeVar("R")
_md5 = partial(hashlib.md5, usedforsecurity=False)


class _RawBody(Protocol):
    def read1(self, amount: int) -> bytes: ...


class S3Transport:
    """One client, shared by threads. Raises the errors of `transport`; never returns a boto3 type."""

    def __init__(self, client: Any, bucket: str, prefix: str, options: RemoteOptions) -> None:
        self._client = client
        self._bucket = bucket
        self._prefix = prefix
        self._options = options
        self.url = f"s3://{bucket}/{prefix}".rstrip("/")

    @contextmanager
    def open(self, key: str, *, offset: int = 0) -> Iterator[RemoteStream]:
        range_argument = {"Range": f"bytes={offset}-"} if offset else {}
        with _translating_read_errors(self.url, key):
            try:
                answer = self._client.get_object(**self._object_arguments(key), **range_argument)
            except self._client.exceptions.ClientError as error:
                if _status_code(error) != _OUT_OF_RANGE:
                    raise
                answer = None
            if answer is None:
                yield RemoteStream(offset, None, iter(()))
                return
            start, total = _parse_extent(answer)
            with answer["Body"] as raw:
                yield RemoteStream(start, total, _read_chunks(raw))

    def head(self, key: str) -> Entry | None:
        try:
            with _translating_read_errors(self.url, key):
                answer = self._call(partial(self._client.head_object, **self._object_arguments(key)))
        except RemoteMissing:
            return None
        return _make_entry(self.url, key, answer, "ContentLength")

    def put_if_absent(self, key: str, content: Content) -> PutOutcome:
        for _ in range(self._options.attempts):
            try:
                with _translating_write_errors(self.url, key):
                    self._send(key, content, IfNoneMatch="*")
            except self._client.exceptions.ClientError as error:
                status = _status_code(error)
                if status in _EXISTS:
                    return PutOutcome.EXISTS
                if status == _NOT_IMPLEMENTED:
                    return self._put_after_head(key, content)
                continue
            return PutOutcome.CREATED
        if self.head(key) is not None:
            return PutOutcome.EXISTS
        raise OutcomeUnknown(f"writes of {key} kept conflicting", hint="push again")

    def put(self, key: str, content: Content) -> None:
        with _translating_write_errors(self.url, key):
            self._send(key, content)

    def list(self, prefix: str) -> Iterator[Entry]:
        pages = Pages(f"{self.url}: {prefix}")
        deadline = monotonic() + self._options.list_seconds
        arguments = {"Bucket": self._bucket, "Prefix": self._prefix + prefix}
        with _translating_read_errors(self.url, prefix, action="s3:ListBucket"):
            while pages.has_more:
                request = partial(self._client.list_objects_v2, **arguments, **pages.next_arguments)
                page = pool.call(request, min(self._options.call_seconds, deadline - monotonic()))
                for item in pages.take(page):
                    yield _make_entry(self.url, item["Key"].removeprefix(self._prefix), item, "Size")

    def delete(self, key: str) -> None:
        with _translating_write_errors(self.url, key, action="s3:DeleteObject"):
            self._call(partial(self._client.delete_object, **self._object_arguments(key)))

    def _put_after_head(self, key: str, content: Content) -> PutOutcome:
        """For servers without conditional writes: two writers at once write equal bytes."""
        if self.head(key) is not None:
            return PutOutcome.EXISTS
        self.put(key, content)
        return PutOutcome.CREATED

    def _send(self, key: str, content: Content, **condition: str) -> None:
        """`upload_file` rejects conditions; the MD5 lets the server refuse a damaged upload."""
        if isinstance(content, Path):
            with content.open("rb") as body:
                digest = hashlib.file_digest(body, _md5).digest()
                body.seek(0)
                self._put_object(key, body, content.stat().st_size, digest, condition)
        else:
            self._put_object(key, content, len(content), _md5(content).digest(), condition)

    def _put_object(
        self, key: str, body: bytes | IO[bytes], size: int, md5: bytes, condition: dict[str, str]
    ) -> None:
        encoded = base64.b64encode(md5).decode()
        request = partial(
            self._client.put_object, **self._object_arguments(key), Body=body, ContentMD5=encoded, **condition
        )
        self._call(request, size)

    def _call(self, request: Callable[[], R], size: int = 0) -> R:
        """Call with a deadline: the timeout of a socket starts again with each byte of an answer that drips."""
        timeouts = Timeouts(object_seconds=self._options.call_seconds)
        return pool.call(request, timeouts.for_object(size) * (self._options.attempts if size else 1))

    def _object_arguments(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._prefix + validate_key(key)}


def connect(url: str, options: RemoteOptions) -> S3Transport:
    """A transport for `s3://bucket/prefix`; contacts nobody. Raises UsageError for a malformed URL."""
    bucket, prefix = parse_url(url)
    import boto3
    from botocore.config import Config

    config = Config(
        s3={"addressing_style": "path" if options.endpoint else "auto"},
        # The default trailing checksums make every PUT over TLS to rclone fail (MissingContentLength).
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        retries={"mode": "standard", "total_max_attempts": options.attempts},
        connect_timeout=options.connect_timeout,
        read_timeout=options.read_timeout,
        max_pool_connections=options.connections,
    )
    client = boto3.session.Session().client(
        "s3",
        endpoint_url=options.endpoint or None,
        region_name=options.region or ("us-east-1" if options.endpoint else None),
        config=config,
    )
    if not (urlsplit(client.meta.endpoint_url).hostname or "").endswith(_AWS_SUFFIXES):
        _refuse_redirects(client)
    return S3Transport(client, bucket, prefix, options)


def _refuse_redirects(client: Any) -> None:
    """After a redirect botocore asks for the bucket's region, and after a redirect of that request again, until the
    stack overflows. Only AWS has regions; elsewhere a redirect is an error."""

    def mark_redirected(context: dict[str, Any], **_: object) -> None:
        context.setdefault("s3_redirect", {})["redirected"] = (
            True  # botocore follows one redirect per request
        )

    client.meta.events.register_last("before-parameter-build.s3", mark_redirected)


def parse_url(url: str) -> tuple[str, str]:
    """Bucket and prefix (empty, or ending in `/`). Credentials have no place in a URL."""
    parts = urlsplit(url)
    prefix = parts.path.strip("/")
    if parts.scheme != "s3" or parts.query or parts.fragment or not _BUCKET.fullmatch(parts.netloc):
        raise UsageError(f"not an S3 URL: {url!r}", hint="use s3://BUCKET/PREFIX")
    if prefix:
        validate_key(prefix)
    return parts.netloc, f"{prefix}/" if prefix else ""


def _parse_extent(answer: dict[str, Any]) -> tuple[int, int | None]:
    """The offset of the body and the size of the object. By the header, because rclone answers ranges with 200."""
    match = _CONTENT_RANGE.fullmatch(answer.get("ContentRange") or "")
    if match is None:
        return 0, answer.get("ContentLength")
    return int(match[1]), None if match[2] == "*" else int(match[2])


def _make_entry(url: str, key: str, answer: Mapping[str, Any], size_field: str) -> Entry:
    """An entry of an answer; boto3 leaves out fields that the server did not send. Raises RemoteMisbehaves."""
    if size_field not in answer or "LastModified" not in answer:
        raise RemoteMisbehaves(f"{url}: {key} has no size or no time", hint="check the endpoint")
    return Entry(key, int(answer[size_field]), answer["LastModified"].timestamp())


def _read_chunks(raw: _RawBody) -> Iterator[bytes]:
    """Yield what has arrived: `read` instead of `read1` would wait for a full buffer, past any deadline."""
    while chunk := raw.read1(_CHUNK):
        yield chunk


def _status_code(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


@contextmanager
def _translating_read_errors(url: str, key: str, action: str = "s3:GetObject") -> Iterator[None]:
    """A failed read changed nothing: RemoteUnavailable."""
    with _translating_errors(f"{url}: {key}", action, RemoteUnavailable):
        yield


@contextmanager
def _translating_write_errors(url: str, key: str, action: str = "s3:PutObject") -> Iterator[None]:
    """A failed write may have landed, unless the server was never reached: OutcomeUnknown."""
    with _translating_errors(f"{url}: {key}", action, OutcomeUnknown):
        yield


@contextmanager
def _translating_errors(where: str, action: str, failure_type: type[RemoteError]) -> Iterator[None]:
    """Raise errors of boto3 as those of `transport`. Answers to a condition pass: only the caller can judge them.

    `failure_type` is raised when the server or the connection fails.
    """
    from botocore import exceptions as boto
    from urllib3 import exceptions as urllib3

    credential_errors = (boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError)
    connect_errors = (
        boto.EndpointConnectionError,
        boto.ConnectTimeoutError,
        boto.ProxyConnectionError,
        boto.SSLError,
    )
    connection_errors = (
        boto.HTTPClientError,
        urllib3.HTTPError,
        http.client.HTTPException,
        TimeoutError,
        ConnectionError,
    )
    try:
        yield
    except boto.ClientError as error:
        if _status_code(error) in _CONDITION_STATUSES:
            raise
        code = error.response.get("Error", {}).get("Code", "")
        raise refusal_error(
            status=_status_code(error), code=code, where=where, action=action, failure_type=failure_type
        ) from error
    except credential_errors as error:
        hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile"
        raise RemoteDenied(f"{where}: {error}", hint=hint) from error
    except connect_errors as error:
        raise RemoteUnavailable(f"{where}: {error}", hint="check the endpoint and the network") from error
    except connection_errors as error:
        raise failure_type(f"{where}: the connection failed: {error}", hint="try again") from error
    except RemoteTooSlow as error:
        error_type = OutcomeUnknown if failure_type is OutcomeUnknown else RemoteTooSlow
        raise error_type(f"{where}: {error.message}", hint=error.hint) from error
    except boto.BotoCoreError as error:
        raise RemoteError(f"{where}: {error}", hint="check the remote's configuration") from error
