"""Read `s3://` remotes by signed GETs without boto3, whose import takes longer than a small fetch.

Only GETs, and only with credentials from the environment and a configured endpoint. Everything else, and every answer
that is not clearly about the object, is left to boto3, which is imported when it is first needed. Both raise the same
errors.
"""

from __future__ import annotations

import http.client
import re
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gitindex.errors import RemoteUnavailable
from gitindex.remote.transport import (
    Content,
    Entry,
    PutOutcome,
    RemoteOptions,
    RemoteStream,
    Transport,
    validate_key,
)
from gitindex.remote.transports import s3, signature
from gitindex.remote.transports.s3answers import refusal_error
from gitindex.remote.transports.signature import StaticCredentials

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

_CHUNK = 256 * 1024
_MAX_ERROR_BYTES = 64 * 1024
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")
_ERROR_CODE = re.compile(rb"<Code>([A-Za-z0-9]{1,64})</Code>")
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_BACK_OFF = 0.1
_BUSY_STATUSES = {429, 500, 502, 503, 504}
_CONNECTION_ERRORS = (OSError, http.client.HTTPException)


class NeedsBotoError(Exception):
    """The endpoint or the answer needs handling that only boto3 has."""


class SignedTransport:
    """Reads by signed GETs; `open_boto` opens the transport for everything else. Shared by threads."""

    def __init__(self, url: str, reader: SignedReader, open_boto: Callable[[], Transport]) -> None:
        self.url = url
        self._reader = reader
        self._open_boto = open_boto
        self._signed_reads_work = True

    @cached_property
    def _boto(self) -> Transport:
        return self._open_boto()

    @contextmanager
    def open(self, key: str, *, offset: int = 0) -> Iterator[RemoteStream]:
        if self._signed_reads_work:
            try:
                body = self._reader.open_body(validate_key(key), offset)
            except NeedsBotoError:
                self._signed_reads_work = False
            else:
                with body as stream:
                    yield stream
                return
        with self._boto.open(key, offset=offset) as stream:
            yield stream

    def head(self, key: str) -> Entry | None:
        return self._boto.head(key)

    def put_if_absent(self, key: str, content: Content) -> PutOutcome:
        return self._boto.put_if_absent(key, content)

    def put(self, key: str, content: Content) -> None:
        self._boto.put(key, content)

    def list(self, prefix: str) -> Iterator[Entry]:
        return self._boto.list(prefix)

    def delete(self, key: str) -> None:
        self._boto.delete(key)


class SignedReader:
    """Sends signed GETs and keeps idle connections for the next ones."""

    def __init__(self, url: str, credentials: StaticCredentials, options: RemoteOptions) -> None:
        bucket, prefix = s3.parse_url(url)
        self._where = url
        self._credentials, self._options = credentials, options
        parts = urlsplit(options.endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or not _PATH.fullmatch(parts.path):
            raise NeedsBotoError(options.endpoint)
        self._uses_tls, self._hostname, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._host_header = parts.netloc.rpartition("@")[2].removesuffix(":443" if self._uses_tls else ":80")
        self._path_prefix = f"{parts.path.rstrip('/')}/{bucket}/{prefix}"
        self._idle_connections: deque[HTTPConnection] = deque()

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._credentials.ca_bundle or None)

    def open_body(self, key: str, offset: int) -> _ResponseBody:
        """Raises NeedsBotoError, RemoteMissing, RemoteDenied, RemoteUnavailable."""
        where = f"{self._where}: {key}"
        for attempt in range(1, self._options.attempts + 1):
            is_last = attempt == self._options.attempts
            try:
                connection, answer = self._send_request(key, offset)
            except (ssl.SSLError, ValueError) as error:
                raise NeedsBotoError(str(error)) from error
            except _CONNECTION_ERRORS as error:
                if is_last:
                    message = f"{where}: the connection failed: {error}"
                    raise RemoteUnavailable(message, hint="check the endpoint and the network") from error
            else:
                if answer.status in (200, 206, 416):
                    return _ResponseBody(
                        reader=self, connection=connection, answer=answer, where=where, offset=offset
                    )
                if answer.status not in _BUSY_STATUSES or is_last:
                    self._raise_refusal(connection, answer, where)
                connection.close()
            time.sleep(_BACK_OFF * 2 ** (attempt - 1))
        raise RemoteUnavailable(f"{where}: no attempt is allowed", hint="try again")

    def keep_connection(self, connection: HTTPConnection) -> None:
        self._idle_connections.append(connection)

    def _send_request(self, key: str, offset: int) -> tuple[HTTPConnection, HTTPResponse]:
        """Use an idle connection; where the server has closed it meanwhile, try the next one or open a new one."""
        while self._idle_connections:
            with suppress(IndexError, ConnectionError, http.client.HTTPException):
                return self._send_on(self._idle_connections.pop(), key, offset)
        return self._send_on(self._open_connection(), key, offset)

    def _send_on(
        self, connection: HTTPConnection, key: str, offset: int
    ) -> tuple[HTTPConnection, HTTPResponse]:
        path = f"{self._path_prefix}{key}"
        headers = signature.sign_headers(self._credentials, self._host_header, path, datetime.now(UTC))
        try:
            connection.request("GET", path, headers={**headers, **_range_header(offset)})
            return connection, connection.getresponse()
        except BaseException:
            connection.close()
            raise

    def _open_connection(self) -> HTTPConnection:
        if self._uses_tls:
            connection: HTTPConnection = http.client.HTTPSConnection(
                self._hostname, self._port, timeout=self._options.connect_timeout, context=self._context
            )
        else:
            connection = http.client.HTTPConnection(
                self._hostname, self._port, timeout=self._options.connect_timeout
            )
        try:
            connection.connect()
            connection.sock.settimeout(self._options.read_timeout)
        except BaseException:
            connection.close()
            raise
        return connection

    def _raise_refusal(self, connection: HTTPConnection, answer: HTTPResponse, where: str) -> None:
        try:
            code_match = _ERROR_CODE.search(answer.read(_MAX_ERROR_BYTES))
        except _CONNECTION_ERRORS:
            code_match = None
        finally:
            connection.close()
        if answer.status not in (403, 404, *_BUSY_STATUSES):
            raise NeedsBotoError(f"status {answer.status}")
        code = code_match[1].decode() if code_match else ""
        raise refusal_error(
            status=answer.status,
            code=code,
            where=where,
            action="s3:GetObject",
            failure_type=RemoteUnavailable,
        )


class _ResponseBody:
    """An answer being received; its connection is kept when the body was read to its end."""

    def __init__(
        self, reader: SignedReader, connection: HTTPConnection, answer: HTTPResponse, where: str, offset: int
    ) -> None:
        self._reader, self._connection, self._answer, self._where = reader, connection, answer, where
        self._requested_offset = offset

    def __enter__(self) -> RemoteStream:
        if self._answer.status == 416:
            return RemoteStream(self._requested_offset, None, iter(()))
        match = _RANGE.fullmatch(self._answer.getheader("Content-Range") or "")
        if match is None:
            length = self._answer.length
            return RemoteStream(0, length, self._read_chunks())
        return RemoteStream(int(match[1]), None if match[2] == "*" else int(match[2]), self._read_chunks())

    def __exit__(self, *_: object) -> None:
        read_to_end = self._answer.length == 0 and not self._answer.will_close
        self._answer.close()
        if read_to_end:
            self._reader.keep_connection(self._connection)
        else:
            self._connection.close()

    def _read_chunks(self) -> Iterator[bytes]:
        """Yield what has arrived, without waiting for a full buffer."""
        try:
            while chunk := self._answer.read1(_CHUNK):
                yield chunk
        except _CONNECTION_ERRORS as error:
            raise RemoteUnavailable(
                f"{self._where}: the connection failed: {error}", hint="try again"
            ) from error


def connect(url: str, options: RemoteOptions, credentials: StaticCredentials) -> Transport:
    """A transport for `s3://bucket/prefix`; contacts nobody. Raises UsageError for a malformed URL."""
    try:
        reader = SignedReader(url, credentials, options)
    except NeedsBotoError:
        return s3.connect(url, options)
    return SignedTransport(url.rstrip("/"), reader, lambda: s3.connect(url, options))


def _range_header(offset: int) -> dict[str, str]:
    return {"Range": f"bytes={offset}-"} if offset else {}
