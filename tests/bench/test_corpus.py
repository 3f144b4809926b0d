"""Corpora come from registries; one that stumbles must not cost the run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from benchmarks import corpus


class Stumbling(BaseHTTPRequestHandler):
    failures = 0

    def do_GET(self) -> None:
        if type(self).failures:
            type(self).failures -= 1
            self.send_error(503)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"archive")

    def log_message(self, *_: object) -> None:
        """Nothing: requests are no news."""


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(corpus.time, "sleep", lambda _: None)
    server = HTTPServer(("127.0.0.1", 0), Stumbling)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/simple/"
    server.shutdown()
    server.server_close()


def test_a_download_survives_a_stumbling_registry(registry: str):
    Stumbling.failures = 3
    assert corpus._download(registry) == b"archive"


def test_a_registry_that_stays_down_is_an_error(registry: str):
    Stumbling.failures = 4
    with pytest.raises(OSError, match="503"):
        corpus._download(registry)
