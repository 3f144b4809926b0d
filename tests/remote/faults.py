"""A threaded HTTP proxy that misbehaves by rule. It forwards Host unchanged, so SigV4 stays valid.

Actions: status (an error answer), reset (connection closed without an answer), hang (no answer for a while),
cut (body ends early, length says otherwise), short (a shorter body, consistently), corrupt (one flipped bit),
pad (a longer body, consistently), slow (the body drips).
"""

from __future__ import annotations

import http.client
import socket
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass
class Rule:
    action: str
    method: str = "GET"
    path: str = ""  # any part of the path
    skip: int = 0  # let so many pass first
    times: int = 1_000_000
    status: int = 500
    forward: bool = False  # reset only: let the server act, then lose its answer
    drip: float = 0.02  # slow only: seconds between bytes

    def applies(self, method: str, path: str) -> bool:
        if method != self.method or self.path not in path or self.times <= 0:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class FaultProxy:
    def __init__(self, upstream: str) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self.upstream = urlsplit(upstream).netloc
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self.rules: list[Rule] = []
        self.requests: list[tuple[str, str]] = []
        self.closing = threading.Event()
        self.lock = threading.Lock()

    def add(self, action: str, **settings: object) -> Rule:
        self.rules.append(Rule(action, **settings))
        return self.rules[-1]

    def rule_for(self, method: str, path: str) -> Rule | None:
        with self.lock:
            self.requests.append((method, path))
            return next((rule for rule in self.rules if rule.applies(method, path)), None)

    def __enter__(self) -> FaultProxy:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    proxy: FaultProxy
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address) -> None:
        """Clients hang up on a misbehaving proxy; that is the point."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def forward(self) -> None:
        proxy = self.server.proxy
        if "100-continue" in self.headers.get("Expect", ""):
            self.send_response_only(100)
            self.end_headers()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        rule = proxy.rule_for(self.command, self.path)
        if rule is None:
            self._answer(*self._upstream(body))
        else:
            getattr(self, f"_{rule.action}")(rule, body)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = forward

    def _upstream(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        link = http.client.HTTPConnection(self.server.proxy.upstream, timeout=20)
        link.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() != "expect":
                link.putheader(name, value)
        link.endheaders(body or None)
        answer = link.getresponse()
        data = answer.read()
        link.close()
        return answer.status, answer.getheaders(), data

    def _answer(self, status, headers, data, *, length: int | None = None, send=None) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        if length is None and self.command == "HEAD":
            length = int({n.lower(): v for n, v in headers}.get("content-length", 0))
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        (send or self.wfile.write)(data)

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _status(self, rule: Rule, body: bytes) -> None:
        self._answer(rule.status, [], b"" if self.command == "HEAD" else b"<Error><Code>Fault</Code></Error>")

    def _reset(self, rule: Rule, body: bytes) -> None:
        if rule.forward:
            self._upstream(body)
        self._drop()

    def _hang(self, rule: Rule, body: bytes) -> None:
        self.server.proxy.closing.wait(3)
        self._drop()

    def _cut(self, rule: Rule, body: bytes) -> None:
        status, headers, data = self._upstream(body)
        self._answer(status, headers, data[: len(data) // 2], length=len(data))
        self._drop()

    def _short(self, rule: Rule, body: bytes) -> None:
        status, headers, data = self._upstream(body)
        self._answer(status, headers, data[:-1])

    def _pad(self, rule: Rule, body: bytes) -> None:
        status, headers, data = self._upstream(body)
        self._answer(status, headers, data + b"\0" * 64)

    def _corrupt(self, rule: Rule, body: bytes) -> None:
        status, headers, data = self._upstream(body)
        middle = len(data) // 2
        self._answer(status, headers, data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])

    def _slow(self, rule: Rule, body: bytes) -> None:
        status, headers, data = self._upstream(body)
        self._answer(status, headers, data, send=lambda whole: self._drip(whole, rule.drip))

    def _drip(self, data: bytes, pause: float) -> None:
        for at in range(len(data)):
            self.wfile.write(data[at : at + 1])
            if self.server.proxy.closing.wait(pause):
                return
