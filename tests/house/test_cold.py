"""Start-up (UI-3): a command imports what it needs and nothing heavier."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests import harness
from tests.gitrepo import GitRepo
from tests.house.graph import REPOSITORY

HEAVY = ("lancedb", "torch", "sentence_transformers", "boto3", "botocore", "mcp")
VECTORS = ("lance", "pyarrow")
SCRIPT = """
import contextlib, io, json, sys
from gitindex.cli.boundary import guarded
from gitindex.cli.main import group
with contextlib.redirect_stdout(io.StringIO()):
    code = guarded(group, sys.argv[1:])
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""
WITHOUT_VECTORS = (
    ("--help",),
    ("--version",),
    ("search", "alpha", "--mode", "lexical"),
    ("symbol", "alpha"),
    ("outline", "a.py"),
    ("read", "a.py"),
    ("sync",),
    ("list",),
    ("stores",),
    ("gc",),
)


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return repo


def imported(repo: GitRepo, *arguments: str) -> set[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", SCRIPT, *arguments]
    done = subprocess.run(command, cwd=repo.root, env=environment, capture_output=True, check=True)
    code, modules = json.loads(done.stdout)
    assert code == 0, done.stderr.decode()
    return set(modules)


@pytest.mark.parametrize("arguments", WITHOUT_VECTORS, ids=" ".join)
def test_without_vectors(arguments: tuple[str, ...], indexed: GitRepo):
    """UI-3: neither the vector store nor anything of the network."""
    assert imported(indexed, *arguments).isdisjoint((*HEAVY, *VECTORS))


@pytest.mark.parametrize(
    "arguments", [("status",), ("health",), ("audit",), ("sync", "--full")], ids=" ".join
)
def test_without_anything_of_the_network(arguments: tuple[str, ...], indexed: GitRepo):
    """UI-3: tables are read with the format's own library, never with the client."""
    assert imported(indexed, *arguments).isdisjoint(HEAVY)
