"""`s3://` remotes read by plain signed requests: importing boto3 costs more than a small fetch does.

Only GETs, only with credentials at hand and a named endpoint. Everything else, and every answer that is not plainly
about the object, is left to boto3, which is opened when it is first needed. The same errors come out of both.
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
from gitindex.remote.transport import Content, Entry, Put, RemoteOptions, Stream, Transport, checked_key
from gitindex.remote.transports import s3, signature
from gitindex.remote.transports.s3answers import refusal
from gitindex.remote.transports.signature import Static

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

_CHUNK = 256 * 1024
_MAX_COMPLAINT = 64 * 1024
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")
_CODE = re.compile(rb"<Code>([A-Za-z0-9]{1,64})</Code>")
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_BACK_OFF = 0.1
_BUSY = {429, 500, 502, 503, 504}
_BROKEN = (OSError, http.client.HTTPException)


class UnsettledError(Exception):
    """An answer that says more about the request than about the object: boto3 may know better."""


class SignedTransport:
    """Reads here, the rest by `open_other`. One instance serves many threads."""

    def __init__(self, url: str, reader: Reader, open_other: Callable[[], Transport]) -> None:
        self.url = url
        self._reader = reader
        self._open_other = open_other
        self._settled = True

    @cached_property
    def _other(self) -> Transport:
        return self._open_other()

    @contextmanager
    def open(self, key: str, *, offset: int = 0) -> Iterator[Stream]:
        if self._settled:
            try:
                found = self._reader.start(checked_key(key), offset)
            except UnsettledError:
                self._settled = False
            else:
                with found as stream:
                    yield stream
                return
        with self._other.open(key, offset=offset) as stream:
            yield stream

    def head(self, key: str) -> Entry | None:
        return self._other.head(key)

    def put_if_absent(self, key: str, content: Content) -> Put:
        return self._other.put_if_absent(key, content)

    def put(self, key: str, content: Content) -> None:
        self._other.put(key, content)

    def list(self, prefix: str) -> Iterator[Entry]:
        return self._other.list(prefix)

    def delete(self, key: str) -> None:
        self._other.delete(key)


class Reader:
    """Signed GETs over connections that are kept."""

    def __init__(self, url: str, static: Static, options: RemoteOptions) -> None:
        bucket, prefix = s3.parse_url(url)
        self._where = url
        self._static, self._options = static, options
        parts = urlsplit(options.endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or not _PATH.fullmatch(parts.path):
            raise UnsettledError(options.endpoint)
        self._secure, self._name, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._host = parts.netloc.rpartition("@")[2].removesuffix(":443" if self._secure else ":80")
        self._path = f"{parts.path.rstrip('/')}/{bucket}/{prefix}"
        self._idle: deque[HTTPConnection] = deque()

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._static.ca_bundle or None)

    def start(self, key: str, offset: int) -> _Body:
        """Raises UnsettledError, RemoteMissing, RemoteDenied, RemoteUnavailable."""
        where = f"{self._where}: {key}"
        for attempt in range(1, self._options.attempts + 1):
            last = attempt == self._options.attempts
            try:
                connection, answer = self._ask(key, offset)
            except (ssl.SSLError, ValueError) as error:
                raise UnsettledError(str(error)) from error
            except _BROKEN as error:
                if last:
                    said = f"{where}: the connection failed: {error}"
                    raise RemoteUnavailable(said, hint="check the endpoint and the network") from error
            else:
                if answer.status in (200, 206, 416):
                    return _Body(self, connection, answer, where, offset)
                if answer.status not in _BUSY or last:
                    self._refuse(connection, answer, where)
                connection.close()
            time.sleep(_BACK_OFF * 2 ** (attempt - 1))
        raise RemoteUnavailable(f"{where}: no attempt is allowed", hint="try again")

    def keep(self, connection: HTTPConnection) -> None:
        self._idle.append(connection)

    def _ask(self, key: str, offset: int) -> tuple[HTTPConnection, HTTPResponse]:
        """A kept connection may have been closed meanwhile: that is no failure, a new one is made."""
        while self._idle:
            with suppress(IndexError, ConnectionError, http.client.HTTPException):
                return self._send(self._idle.pop(), key, offset)
        return self._send(self._connected(), key, offset)

    def _send(self, connection: HTTPConnection, key: str, offset: int) -> tuple[HTTPConnection, HTTPResponse]:
        path = f"{self._path}{key}"
        sent = signature.headers(self._static, self._host, path, datetime.now(UTC))
        try:
            connection.request("GET", path, headers={**sent, **_range(offset)})
            return connection, connection.getresponse()
        except BaseException:
            connection.close()
            raise

    def _connected(self) -> HTTPConnection:
        if self._secure:
            fresh: HTTPConnection = http.client.HTTPSConnection(
                self._name, self._port, timeout=self._options.connect_timeout, context=self._context
            )
        else:
            fresh = http.client.HTTPConnection(self._name, self._port, timeout=self._options.connect_timeout)
        try:
            fresh.connect()
            fresh.sock.settimeout(self._options.read_timeout)
        except BaseException:
            fresh.close()
            raise
        return fresh

    def _refuse(self, connection: HTTPConnection, answer: HTTPResponse, where: str) -> None:
        try:
            found = _CODE.search(answer.read(_MAX_COMPLAINT))
        except _BROKEN:
            found = None
        finally:
            connection.close()
        if answer.status not in (403, 404, *_BUSY):
            raise UnsettledError(f"status {answer.status}")
        code = found[1].decode() if found else ""
        raise refusal(answer.status, code, where, "s3:GetObject", RemoteUnavailable)


class _Body:
    """An answer being received; its connection is kept when it was read to its end."""

    def __init__(
        self, reader: Reader, connection: HTTPConnection, answer: HTTPResponse, where: str, offset: int
    ) -> None:
        self._reader, self._connection, self._answer, self._where = reader, connection, answer, where
        self._asked = offset

    def __enter__(self) -> Stream:
        if self._answer.status == 416:
            return Stream(self._asked, None, iter(()))
        found = _RANGE.fullmatch(self._answer.getheader("Content-Range") or "")
        if found is None:
            length = self._answer.length
            return Stream(0, length, self._chunks())
        return Stream(int(found[1]), None if found[2] == "*" else int(found[2]), self._chunks())

    def __exit__(self, *_: object) -> None:
        whole = self._answer.length == 0 and not self._answer.will_close
        self._answer.close()
        if whole:
            self._reader.keep(self._connection)
        else:
            self._connection.close()

    def _chunks(self) -> Iterator[bytes]:
        """What has arrived, piece by piece."""
        try:
            while chunk := self._answer.read1(_CHUNK):
                yield chunk
        except _BROKEN as error:
            raise RemoteUnavailable(
                f"{self._where}: the connection failed: {error}", hint="try again"
            ) from error


def connect(url: str, options: RemoteOptions, static: Static) -> Transport:
    """A transport for `s3://bucket/prefix`; contacts nobody. Raises UsageError for a malformed URL."""
    try:
        reader = Reader(url, static, options)
    except UnsettledError:
        return s3.connect(url, options)
    return SignedTransport(url.rstrip("/"), reader, lambda: s3.connect(url, options))


def _range(offset: int) -> dict[str, str]:
    return {"Range": f"bytes={offset}-"} if offset else {}
