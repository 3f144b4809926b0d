"""One team per kind of remote; servers are shared by the session."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from tests.campaigns.share.team import Team
from tests.remote.conftest import moto_server, rclone_server  # noqa: F401 - fixtures
from tests.remote.servers import BUCKET, Server


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """A team around a directory."""
    return Team.create(tmp_path, (tmp_path / "remote").as_uri())


def on_server(server: Server, where: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return Team.create(where, f"s3://{BUCKET}/{uuid.uuid4().hex}", server.endpoint)


@pytest.fixture(params=["file", *(pytest.param(name, marks=pytest.mark.slow) for name in ("rclone", "moto"))])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A team around each kind of remote."""
    if request.param == "file":
        return Team.create(tmp_path, (tmp_path / "remote").as_uri())
    return on_server(request.getfixturevalue(f"{request.param}_server"), tmp_path, monkeypatch)
