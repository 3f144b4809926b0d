"""UI-1: the sharing commands as people and scripts use them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaigns.share.team import Team
from tests.support import harness


@pytest.fixture
def shell(team: Team, monkeypatch: pytest.MonkeyPatch) -> Team:
    monkeypatch.setenv("GITINDEX_HOME", str(team.ci.home))
    monkeypatch.setenv("GITINDEX_REMOTE", team.url)
    monkeypatch.setenv("GITINDEX_SIGNING_KEY_FILE", str(team.where / "key"))
    return team


def ok(*arguments: str) -> dict:
    ran = harness.cli(*arguments, "--json")
    assert ran.code == 0, ran.err + ran.out
    return ran.json


def test_verify_of_an_unpublished_commit_speaks_of_that_commit_alone(shell: Team):
    """It looks at no other, so it counts none."""
    here = ("--path", str(shell.origin.root))
    ok("trust", "add", str(shell.where / "key.pub"), *here)
    ran = harness.cli("verify", "--json", *here)
    commit = shell.origin.git("rev-parse", "HEAD")
    assert (ran.code, ran.json["error"]["code"]) == (6, "remote_missing")
    assert ran.json["error"]["message"].startswith(f"nothing is published for {commit[:12]} (repository ")


def test_from_a_new_key_to_a_verified_index(shell: Team, monkeypatch: pytest.MonkeyPatch):
    """The five steps of docs/sharing.md."""
    team = shell
    made = ok("keys", "new", str(team.where / "team-key"), "--comment", "our team")
    shown = subprocess.run(
        ["ssh-keygen", "-lf", made["public_file"]], capture_output=True, text=True, check=False
    )
    if shown.returncode == 0:
        assert made["id"] in shown.stdout
    assert os.stat(made["file"]).st_mode & 0o777 == 0o600
    monkeypatch.setenv("GITINDEX_SIGNING_KEY_FILE", made["file"])
    origin = ("--path", str(team.origin.root))
    built = ok("build", "--commit", "HEAD", "--no-semantic", *origin)
    assert built["counts"]["files"] == 4
    assert ok("push", *origin)["manifest"] == "created"
    repo = team.clone()
    here = ("--path", str(repo.root))
    monkeypatch.setenv("GITINDEX_HOME", str(team.mate.home))
    monkeypatch.delenv("GITINDEX_SIGNING_KEY_FILE")
    ok("trust", "add", made["public_file"], *here)
    fetched = ok("fetch", *here)
    assert set(fetched) >= {
        "status", "base_commit", "target_commit", "distance", "objects", "bytes", "caught_up", "signer", "elapsed_ms",
        "snapshot_id",
    }  # fmt: skip
    assert fetched["signer"] == made["id"]
    assert set(fetched["caught_up"]) >= {"add", "modify", "delete"}
    status = ok("status", *here)
    assert status["trust"]["origin"] == "fetched"
    assert status["in_sync"] is True
    verified = ok("verify", "--deep", *here)
    assert [one["id"] for one in verified["signers"]] == [made["id"]]
    digest = ok("audit", "--digest", *here)["digest"]
    assert digest == team.clean(repo).digest
    text = harness.cli("fetch", *here).out
    for told in ("base", "downloaded", "0 B", "signed by", made["id"]):
        assert told in text


def test_the_key_s_content_never_shows(shell: Team, monkeypatch: pytest.MonkeyPatch):
    secret = (shell.where / "key").read_text()
    monkeypatch.delenv("GITINDEX_SIGNING_KEY_FILE")
    monkeypatch.setenv("GITINDEX_SIGNING_KEY", secret.replace("OPENSSH", "BROKEN"))
    origin = ("--path", str(shell.origin.root))
    for command in (("build", "--no-semantic"), ("push",)):
        ran = harness.cli(*command, *origin)
        assert secret.splitlines()[2] not in ran.out + ran.err
    assert ran.code == 2


def test_shards_on_the_command_line(shell: Team):
    origin = ("--path", str(shell.origin.root))
    out = str(shell.where / "out")
    for number in (1, 2):
        ok("build", "--shard", f"{number}/2", "--output", out, *origin)
    assert ok("merge", out, *origin)["shards"] == 2
    assert ok("push", *origin)["manifest"] == "created"
    for wrong in ("1", "0/2", "a/b", "3/2"):
        assert harness.cli("build", "--shard", wrong, "--output", out, *origin).code == 2


def test_sharing_commands_start_without_heavy_imports(shell: Team):
    """UI-3: a directory as remote needs no boto3; trust needs no engine at all."""
    code = (
        "import sys\nfrom gitindex.cli.boundary import run_command\nfrom gitindex.cli.main import group\n"
        "run_command(group, sys.argv[1:])\n"
        "heavy = {'boto3', 'lancedb', 'torch', 'mcp', 'lance', 'tantivy', 'pyarrow'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    for command, allowed in ((("trust", "list"), "[]"), (("verify",), "[]")):
        done = subprocess.run(
            [sys.executable, "-c", code, *command, "--path", str(shell.origin.root)],
            capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
        )  # fmt: skip
        assert done.stderr.strip().splitlines()[-1] == allowed, command
