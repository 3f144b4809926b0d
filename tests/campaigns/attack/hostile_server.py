"""An S3 server on loopback that answers as it likes: endless pages, redirects, drips."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

PAUSE = 0.2  # between two bytes of a drip: well within what a socket waits for


class Seen(NamedTuple):
    method: str
    path: str
    signed: bool


class HostileServer:
    """`answer` decides about each request; whatever it leaves open ends with the server."""

    def __init__(self, answer: Callable[[Request], None]) -> None:
        self.answer = answer
        self.seen: list[Seen] = []
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), Request)
        self._server.hostile = self
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> HostileServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    hostile: HostileServer
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address) -> None:
        """Clients hang up on it; that is the point."""


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def handle_any(self) -> None:
        if "100-continue" in self.headers.get("Expect", ""):
            self.send_response_only(100)
            self.end_headers()
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        hostile = self.server.hostile
        hostile.seen.append(Seen(self.command, self.path, "Authorization" in self.headers))
        with suppress(ConnectionError):
            hostile.answer(self)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = handle_any

    @property
    def lists(self) -> bool:
        return "list-type" in parse_qs(urlsplit(self.path).query)

    def send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def missing(self) -> None:
        self.send(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def page(self, token: str, *keys: str) -> None:
        listed = "".join(
            f"<Contents><Key>{key}</Key><Size>1</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key in keys
        )
        more = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>"
        self.send(200, f"<ListBucketResult>{listed}{more}</ListBucketResult>".encode())

    def drip_headers(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        self._drip()

    def drip_body(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        self._drip()

    def drip_chunk_size(self) -> None:
        """Between two pieces of a body, where no reader gets to look at its clock."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
        self._drip()

    def _drip(self) -> None:
        while not self.server.hostile.closing.wait(PAUSE):
            self.wfile.write(b"x")
