"""RE-3: `gitindex init` starts from the team's remote where the user trusts one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.campaigns.share.team import Team
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def mate(team: Team, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    team.publish()
    monkeypatch.setenv("GITINDEX_HOME", str(team.mate.home))
    monkeypatch.setenv("GITINDEX_REMOTE", team.url)
    return team.clone()


def init(repo: GitRepo, *options: str) -> harness.Ran:
    return harness.cli("init", "--no-hooks", "--json", "--path", str(repo.root), *options)


def test_without_a_pin_it_builds(mate: GitRepo):
    assert init(mate).json["fetched"] is None


def test_with_a_pin_it_fetches(team: Team, mate: GitRepo):
    team.trust(mate)
    ran = init(mate)
    assert ran.code == 0
    assert ran.json["fetched"].startswith(mate.git("rev-parse", "HEAD")[:12])
    assert ran.json["noop"]
    status = harness.cli("status", "--json", "--path", str(mate.root)).json
    assert status["trust"]["origin"] == "fetched"


def test_a_remote_that_is_gone_only_means_building_here(team: Team, mate: GitRepo, tmp_path: Path):
    team.trust(mate)
    shutil.rmtree(tmp_path / "remote")
    ran = init(mate)
    assert ran.code == 0
    assert ran.json["fetched"].startswith("not possible")
    assert not ran.json["noop"]
    shutil.rmtree(team.mate.home / "data")
    assert init(mate, "--fetch").code == 6
    assert init(mate, "--no-fetch").json["fetched"] is None
