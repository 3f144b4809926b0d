"""RE-14, CF-4: what an indexer can read of the process that runs it, and what keeps it from starting."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitindex.git.objects import open_objects
from gitindex.git.repo import discover, resolve
from gitindex.semantic.checkout import check_out
from gitindex.semantic.indexers.registry import indexer_for
from tests.campaigns.attack.hostilemodules import console_script, stub_indexer
from tests.campaigns.attack.test_ci_keys import SPY
from tests.support.gitrepo import GitRepo

PROGRAM = {"app.py": "A = 1\n", "pyproject.toml": "[project]\nname = 'app'\n"}
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "secret-aws", "GITHUB_TOKEN": "secret-github", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "secret-oidc",
    "NPM_TOKEN": "secret-npm", "SSH_AUTH_SOCK": "secret-agent",
}  # fmt: skip
_PR_CAPBSET_DROP = 24
_READ_ANY_PROCESS = (19, 21, 38)  # CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON


def as_ordinary_user() -> None:
    """In the child, before it starts: root's powers to read every process are taken away."""
    if os.geteuid() == 0:
        for capability in _READ_ANY_PROCESS:
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def ran(repo: GitRepo, tools: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [console_script(), *arguments, "--json"], cwd=repo.root, env={**os.environ, "PATH": path, **variables},
        capture_output=True, text=True, check=False, timeout=120, preexec_fn=as_ordinary_user,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize("command", [("build", "--allow-degraded"), ("refresh", "--wait")])
def test_an_indexer_reads_no_credential_of_ours(command: tuple[str, ...], repo: GitRepo, tmp_path: Path):
    """RE-14: neither in what it is given nor in /proc."""
    repo.commit("one", **PROGRAM)
    tools = stub_indexer(tmp_path / "bin", SPY.format(dump=tmp_path / "dump"))
    ran(repo, tools, *command, **SECRETS)
    dumped = (tmp_path / "dump").read_text()
    assert "PATH=" in dumped, "the spy ran"
    assert [value for value in SECRETS.values() if value in dumped] == []


@pytest.mark.parametrize("command", ["build", "refresh"])
def test_no_indexer_starts_beside_a_signing_key(command: str, repo: GitRepo, tmp_path: Path):
    """RE-14: the shell that started us has the key as well, and nothing protects its environment."""
    repo.commit("one", **PROGRAM)
    tools = stub_indexer(tmp_path / "bin", SPY.format(dump=tmp_path / "dump"))
    done = ran(repo, tools, command, GITINDEX_SIGNING_KEY="secret-key")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"]) == (2, "key_exposed")
    assert "gitindex push" in error["hint"]
    assert "secret-key" not in done.stdout + done.stderr
    assert not (tmp_path / "dump").exists()
    assert ran(repo, tools, "build", "--no-semantic", GITINDEX_SIGNING_KEY="secret-key").returncode == 0


def test_project_code_does_not_run_beside_a_key_file(repo: GitRepo, tmp_path: Path):
    """RE-14: tools that only read are given no file names; what a project brings looks for them."""
    repo.commit("one", **PROGRAM)
    tools = stub_indexer(tmp_path / "bin", SPY.format(dump=tmp_path / "dump"))
    asked = ("build", "--allow-degraded", "--allow-project-code")
    done = ran(repo, tools, *asked, GITINDEX_SIGNING_KEY_FILE=str(tmp_path / "key"))
    assert json.loads(done.stdout)["error"]["code"] == "key_exposed"
    assert ran(repo, tools, *asked[:2], GITINDEX_SIGNING_KEY_FILE=str(tmp_path / "key")).returncode == 0


@pytest.mark.parametrize("path", ["", ".", "bin"])
def test_no_program_of_the_repository_is_taken_for_an_indexer(path: str, repo: GitRepo, tmp_path: Path):
    """CF-4: PATH with an entry that means the current directory."""
    repo.commit("one", **PROGRAM)
    for folder in (repo.root, repo.root / "bin"):
        stub_indexer(folder, SPY.format(dump=tmp_path / "dump"))
    done = ran(repo, tmp_path / "none", "refresh", "--wait", PATH=f"{path}{os.pathsep}{os.environ['PATH']}")
    assert [one["diagnosis"] for one in json.loads(done.stdout)["contexts"]] == ["missing_tool"]
    assert not (tmp_path / "dump").exists()


def test_a_forged_tree_brings_no_git_directory_to_an_indexer(repo: GitRepo, tmp_path: Path):
    """CF-4: git itself would refuse to check it out; tools run git, which obeys its configuration."""
    blob = repo.git("hash-object", "-w", str(repo.write("config", "[core]\n\tfsmonitor = evil\n")))
    inner = _tree(repo, f"100644 blob {blob}\tconfig")
    middle = _tree(repo, f"040000 tree {inner}\t.Git")
    tree = _tree(repo, f"040000 tree {middle}\tsub")
    commit = repo.git("commit-tree", "-m", "forged", tree)
    found = discover(repo.root)
    assert found is not None
    with open_objects(found) as objects:
        made = check_out(objects, resolve(found, commit).tree or "", tmp_path / "out", max_bytes=1000)
    assert made.skipped == (("sub/.Git/config", "unsafe path"),)
    assert list(made.root.iterdir()) == []


def _tree(repo: GitRepo, line: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repo.root), "mktree"], input=line, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_compilation_database_is_project_code():
    """CF-4: scip-clang runs the compilers that it names, with `-print-resource-dir`."""
    assert indexer_for("cpp").runs_project_code
