"""RE-1, RE-2, RE-3 on a real project: its releases as commits A to E, a CI role and a teammate, one S3 server over TLS."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from gitindex.ops.sharing.build import build
from gitindex.ops.sharing.build_options import BuildOptions
from gitindex.ops.sharing.push import PushOptions, push
from tests.campaigns.share.conftest import on_server
from tests.campaigns.share.team import RESTLESS, Team
from tests.remote.servers import Server
from tests.support.gitrepo import GitRepo

RELEASES = ("2.2.0", "2.2.3", "2.2.5", "2.3.0", "2.3.2")
CORPUS = Path(__file__).resolve().parents[3] / "ci" / "benchmarks" / "corpus.py"


def sources(release: str, cache: Path) -> Path:
    spec = importlib.util.spec_from_file_location("corpus", CORPUS)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["corpus"] = module
    spec.loader.exec_module(module)
    return module.source(f"Flask=={release}", cache)


@pytest.fixture
def flask(rclone_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """Each release is one commit, built and pushed by the CI role."""
    team = on_server(rclone_server, tmp_path, monkeypatch)
    for release in RELEASES:
        for entry in team.origin.root.iterdir():
            if entry.name != ".git":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        shutil.copytree(sources(release, tmp_path / "cache"), team.origin.root, dirs_exist_ok=True)
        team.commit(release)
        build(team.origin.root, team.ci, BuildOptions(exact_facts=False))
        push(team.origin.root, team.ci, PushOptions(patience=RESTLESS))
    return team


@pytest.mark.slow
def test_a_teammate_of_a_real_project(flask: Team):
    team = flask
    repo = team.clone()
    team.trust(repo)
    whole = check(team, repo, distance=0)
    assert team.fetch(repo).bytes["downloaded"] == 0
    repo.git("switch", "-q", "-c", "mine", "HEAD~1")
    repo.commit("mine", **{"src/flask/mine.py": "from flask import Flask\n\napp = Flask(__name__)\n"})
    assert check(team, repo, distance=1) <= whole
    repo.write(
        "src/flask/app.py", (repo.root / "src/flask/app.py").read_text() + "\n\ndef dirty():\n    pass\n"
    )
    repo.write("scratch.py", "x = 1\n")
    assert check(team, repo, distance=1) == 0
    shallow = team.clone("shallow", "--depth=2")
    shallow.git("config", "gitindex.repository", team.repository)
    team.trust(shallow)
    check(team, shallow, distance=0)
    team.origin.git("reset", "-q", "--hard", "HEAD~2")
    team.commit("rewritten", **{"src/flask/new.py": "def new():\n    pass\n"})
    repo.git("checkout", "-q", "-f", "--detach")
    repo.git("fetch", "-q", "--force", "origin", "main")
    repo.git("reset", "-q", "--hard", "FETCH_HEAD")
    check(team, repo, distance=1)


def check(team: Team, repo: GitRepo, distance: int) -> int:
    done = team.fetch(repo)
    assert done.distance == distance
    assert team.digest(repo) == team.clean(repo)
    return done.bytes["downloaded"]
