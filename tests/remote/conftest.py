"""Session-scoped servers, and one transport fixture over every kind of remote."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from gitindex.remote.connect import open_transport
from gitindex.remote.transport import RemoteOptions, Timeouts, Transport
from tests.remote import servers
from tests.remote.faults import FaultProxy
from tests.remote.memory import MemoryTransport
from tests.remote.servers import BUCKET, Server

IMPATIENT = Timeouts(attempts=3, back_off=0.0, object_seconds=5.0)


@pytest.fixture(scope="session")
def rclone_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with servers.rclone(tmp_path_factory.mktemp("rclone")) as server:
        yield server


@pytest.fixture(scope="session")
def moto_server() -> Iterator[Server]:
    with servers.moto() as server:
        yield server


@dataclass(frozen=True)
class Remote:
    transport: Transport
    conditional: bool


Connect = Callable[..., Transport]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Connect:
    """A transport to a prefix of its own on a server, with credentials where a user would put them."""

    def make(
        server: Server, *, endpoint: str = "", prefix: str = "", signed: bool = False, **options: object
    ) -> Transport:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        wanted = {"attempts": 2, "read_timeout": 5.0, **options}
        if signed:  # reads by plain requests, as from the command line
            wanted["variables"] = server.environment
        settings = RemoteOptions(endpoint or server.endpoint, **wanted)
        return open_transport(f"s3://{BUCKET}/{prefix or uuid.uuid4().hex}", settings)

    return make


@pytest.fixture(params=["memory", "file", "rclone", "moto", "rclone-signed", "moto-signed"])
def remote(request: pytest.FixtureRequest, tmp_path, connect: Connect) -> Remote:
    if request.param == "memory":
        return Remote(MemoryTransport(), True)
    if request.param == "file":
        where = tmp_path / "remote"
        where.mkdir()
        return Remote(open_transport(where.as_uri()), True)
    name, _, signed = request.param.partition("-")
    server: Server = request.getfixturevalue(f"{name}_server")
    return Remote(connect(server, signed=bool(signed)), server.conditional)


@pytest.fixture(params=["boto3", "signed"])
def faulty(
    request: pytest.FixtureRequest, moto_server: Server, connect: Connect
) -> Iterator[tuple[FaultProxy, Transport]]:
    """A transport whose way to the server leads through a proxy that misbehaves on request."""
    with FaultProxy(moto_server.endpoint) as proxy:
        signed = request.param == "signed"
        yield (
            proxy,
            connect(moto_server, endpoint=proxy.endpoint, signed=signed, attempts=1, read_timeout=2.0),
        )
