"""Start-up (UI-3): a command imports what it needs and nothing heavier."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.graph import REPOSITORY
from tests.support import harness
from tests.support.gitrepo import GitRepo

HEAVY = ("lancedb", "torch", "sentence_transformers", "boto3", "botocore", "mcp")
VECTORS = ("lance", "pyarrow")
# What one of our modules once imported at its top and a query has no use for: a millisecond or more each.
IDLE = (
    *("asyncio", "concurrent", "ctypes", "difflib", "logging", "lzma", "multiprocessing", "shutil", "socket"),
    *("tempfile", "tomllib", "traceback", "cryptography", "google", "numpy", "pygit2", "tree_sitter", "yaml"),
    *(
        "gitindex.files.policy",
        "gitindex.model.rows",
        "gitindex.scip",
        "gitindex.view.exact_facts",
        "gitindex.trust.keys",
        "gitindex.remote",
    ),
    *("gitindex.indexing", "gitindex.lifecycle", "gitindex.semantic", "gitindex.navigate", "gitindex.hooks"),
)
SCRIPT = """
import contextlib, io, json, sys
from gitindex.cli.boundary import run_command
from gitindex.cli.main import group
with contextlib.redirect_stdout(io.StringIO()):
    code = run_command(group, sys.argv[1:])
modules = [module for name, module in list(sys.modules.items()) if name.startswith("gitindex")]
classes = {item for module in modules for item in vars(module).values() if isinstance(item, type)}
params = {item.__qualname__: getattr(item, "__dataclass_params__", None) for item in classes}
compiled = [name for name, found in params.items() if found and found.init]
print(json.dumps([code, sorted(sys.modules), sorted(compiled)]))
"""
LEXICAL = ("search", "alpha", "--mode", "lexical")
WITHOUT_VECTORS = (
    ("--help",),
    ("--version",),
    LEXICAL,
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


def started(repo: GitRepo, *arguments: str) -> tuple[set[str], list[str]]:
    """The modules a command imports, and those of its classes that `dataclass` compiled methods for."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", SCRIPT, *arguments]
    done = subprocess.run(command, cwd=repo.root, env=environment, capture_output=True, check=True)
    code, modules, compiled = json.loads(done.stdout)
    assert code == 0, done.stderr.decode()
    return set(modules), compiled


def imported(repo: GitRepo, *arguments: str) -> set[str]:
    return started(repo, *arguments)[0]


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


def test_a_query_imports_nothing_idle(indexed: GitRepo):
    """UI-3: imports are most of what a cold query costs; each of these was once part of it."""
    modules, compiled = started(indexed, *LEXICAL)
    assert sorted(modules.intersection(IDLE)) == []
    assert compiled == [], "`model.frozen` makes the same class without compiling six functions"


@pytest.mark.parametrize(("arguments", "most"), [(LEXICAL, 3), (("symbol", "alpha"), 3), (("sync",), 4)])
def test_git_is_started_seldom(
    arguments: tuple[str, ...], most: int, indexed: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """UI-3: where the repository is, HEAD with what is dirty, what is untracked; a sync also wants HEAD's tree."""
    calls = tmp_path / "calls"
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(f'#!/bin/sh\necho call >> "{calls}"\nexec "{shutil.which("git")}" "$@"\n')
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}{os.pathsep}{os.environ['PATH']}")
    started(indexed, *arguments)
    assert len(calls.read_text().splitlines()) <= most
    indexed.write("a.py", "def beta():\n    return 1\n")
    started(indexed, *arguments)
    assert len(calls.read_text().splitlines()) <= 2 * most, "a change is no reason to ask more"


def test_nothing_to_do_in_a_dirty_tree_loads_no_indexer(indexed: GitRepo):
    """UI-3: dirty files whose bytes are indexed are no sign of work, nor are those that never are."""
    indexed.commit("two", **{"picture.png": b"\x89PNG\0"})
    indexed.write("a.py", "def beta():\n    return 1\n")
    indexed.write("picture.png", b"\x89PNG\0\0")
    (indexed.root / "new.py").write_text("def gamma():\n    return 1\n")
    harness.index(indexed.root)
    modules = imported(indexed, "sync")
    assert modules.isdisjoint((*HEAVY, *VECTORS, "numpy", "shutil", "gitindex.ops.syncing.sync_locked"))
    indexed.write("a.py", "def delta():\n    return 1\n")
    assert "lance" in imported(indexed, "sync")
