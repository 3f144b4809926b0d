"""A stdout that fails: one line on stderr and exit 1, never a traceback (UI-1)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.support.plain import REPOSITORY

COMMANDS = (
    ("search", "alpha"),
    ("search", "alpha", "--json"),
    ("search", "--nonsense", "--json"),
    ("outline", "nowhere.py", "--json"),
    ("--help",),
)


def shell(line: str, arguments: tuple[str, ...], folder: Path, **variables: str) -> tuple[int, str]:
    """`gitindex …` under a shell's redirections: exit code and stderr."""
    known = os.environ.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, (str(REPOSITORY), known)))
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {line}', "sh", sys.executable, "-m", "gitindex", *arguments],
        env={**os.environ, "PYTHONPATH": path, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return repo


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("line", "why"), [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")]
)
def test_a_failing_stdout_is_named(arguments: tuple[str, ...], line: str, why: str, indexed: GitRepo):
    if "full" in line and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    code, told = shell(line, arguments, indexed.root)
    assert code == 1
    assert told.splitlines() == [
        f"gitindex: cannot write the answer to stdout: {why}",
        "  next: send stdout somewhere else",
    ]


@pytest.mark.parametrize(
    "arguments", [("status", "--json"), ("--help",), ("--version",), ("search", "--help")]
)
def test_a_full_disk_is_named_without_buffering_too(arguments: tuple[str, ...], indexed: GitRepo):
    code, told = shell(">/dev/full", arguments, indexed.root, PYTHONUNBUFFERED="1")
    assert (code, told.count("\n")) == (1, 2), told
    assert "cannot write the answer" in told


def test_what_has_nothing_to_say_needs_no_stdout(indexed: GitRepo):
    """HK-2: a hook exits 0 always."""
    assert shell(">&- 2>&-", ("hooks", "run", "post-commit"), indexed.root, GITINDEX_SKIP="1") == (0, "")
