"""Every hinted command runs as printed and does what it says (EN-3), on both surfaces."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitindex.config import load_environment
from gitindex.mcp.server import Service
from gitindex.ops.codebase import Codebase
from tests.gate import forge
from tests.gate.conftest import FILES
from tests.support.gitrepo import GitRepo
from tests.support.harness import cli, codebase, index


@pytest.fixture
def odd(tmp_path: Path) -> GitRepo:
    """A root that a careless hint would break: spaces, quotes, a dollar sign."""
    made = GitRepo.create(tmp_path / "my $HOME 'repo'")
    made.commit("first", **FILES)
    return made


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a printed command in a real shell, far away from the repository."""
    program = f"{shlex.quote(sys.executable)} -m gitindex"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    line = f'gitindex() {{ {program} "$@"; }}; {command}'
    return subprocess.run(["sh", "-c", line], cwd=folder, env=env, capture_output=True, check=False)


def call(hint: dict[str, Any], root: Path) -> dict[str, Any]:
    """Run the MCP form of a hint, exactly as given."""
    rendered = Service(load_environment(), root).call(hint["tool"], hint["args"])
    return json.loads(rendered.text)


def envelope(root: Path) -> dict[str, Any]:
    ran = cli("symbol", "start", "--json", "--path", str(root))
    assert ran.code == 3
    return ran.json


def answers(root: Path) -> bool:
    return cli("symbol", "start", "--json", "--path", str(root)).code == 0


def test_create_hint_of_the_command_line(odd: GitRepo, tmp_path: Path) -> None:
    """not_indexed → the printed command indexes."""
    text = cli("symbol", "start", "--path", str(odd.root))
    command = text.err.partition("next: ")[2].strip()
    assert command == envelope(odd.root)["hints"]["create"]["command"]
    done = shell(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert answers(odd.root)


def test_create_hint_of_mcp(odd: GitRepo) -> None:
    hint = envelope(odd.root)["hints"]["create"]
    assert call({**hint, "args": {**hint["args"], "wait": True}}, odd.root)["status"] == "ok"
    assert answers(odd.root)


@pytest.mark.parametrize("surface", ["shell", "mcp"])
def test_recommended_action_of_a_stale_index(odd: GitRepo, tmp_path: Path, surface: str) -> None:
    """stale_local → both forms of the way out make a proven index."""
    index(odd.root)
    forge.remark(codebase(odd.root), forge.NO_MARKER)
    hints = envelope(odd.root)["hints"]
    if surface == "shell":
        assert shell(hints["create"]["command"], tmp_path).returncode == 0
    else:
        action = hints["staleLocal"]["recommendedAction"]
        call({**action, "args": {**action["args"], "wait": True}}, odd.root)
    assert answers(odd.root)


@pytest.mark.parametrize("surface", ["shell", "mcp"])
def test_reindex_hint(odd: GitRepo, tmp_path: Path, surface: str) -> None:
    """requires_reindex → reindexing makes it fit."""
    index(odd.root)
    odd.write(".gitindex.toml", "[index]\nchunk_chars = 400\n")
    hint = envelope(odd.root)["hints"]["reindex"]
    if surface == "shell":
        assert shell(hint["command"], tmp_path).returncode == 0
    else:
        call({**hint, "args": {**hint["args"], "wait": True}}, odd.root)
    assert answers(odd.root)


def test_status_hint_while_indexing(odd: GitRepo, tmp_path: Path) -> None:
    """not_ready → status tells about the very rebuild, in both forms."""
    index(odd.root)
    made = codebase(odd.root)
    with forge.rebuilding(made):
        hint = envelope(odd.root)["hints"]["status"]
        told = call(hint, odd.root)
        assert (told["status"], told["state"], told["codebaseRoot"]) == (
            "not_ready",
            "indexing",
            str(odd.root),
        )
        done = shell(hint["command"] + " --json", tmp_path)
        assert done.returncode == 3
        assert json.loads(done.stdout)["indexing"]["phase"] == "starting"


def test_every_hint_of_a_read_is_one_of_these(indexed: Codebase) -> None:
    """The list above is complete: gates hint at create, reindex and status, nothing else."""
    from gitindex import gate

    assert set(gate._COMMANDS) == {"status", "create", "reindex", "sync"}
    for name in gate._COMMANDS:
        command = gate.lifecycle_action(indexed.root, name)["command"]
        assert cli(*shlex.split(command)[1:], "--json").code == 0, command
