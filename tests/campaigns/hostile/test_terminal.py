"""UI: text of a repository is somebody else's; on a terminal it must not move the cursor, set a title or hide itself."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gitrepo import GitRepo

TITLE = "\x1b]0;owned\x07"
CLEAR = "\x1b[2J\x1b[8m"
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;(?:file://[!-~]*)?\x1b\\")


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = GitRepo.create(tmp_path / "repo")
    text = f"def trap():  # {TITLE}{CLEAR}\n    return trap()  # {TITLE}\n"
    made.commit("one", **{"trap.py": text, f"trap{CLEAR}.py": text})
    return made


def on_terminal(repo: GitRepo, home: Path, *arguments: str) -> str:
    """What a terminal receives, both streams."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "GITINDEX_HOME": str(home), "GITINDEX_PAGER": "", "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "gitindex", *arguments]
    running = subprocess.Popen(
        command, cwd=repo.root, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    received = b""
    try:
        while part := os.read(ours, 65536):
            received += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert running.wait() in (0, 1, 2)
    return received.decode()


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "trap"),
        ("search", "trap", "--mode", "regex"),
        ("search", "--files", "trap"),
        ("refs", "trap"),
        ("symbol", "trap"),
        ("outline", "trap.py"),
        ("callgraph", "trap.py#trap"),
        ("map",),
        ("read", "trap.py"),
        ("read", f"no{CLEAR}.py"),
        ("status", "--path", f"no{CLEAR}"),
    ],
    ids=" ".join,
)
def test_only_our_own_escapes_reach_a_terminal(repo: GitRepo, tmp_path: Path, arguments: tuple[str, ...]):
    on_terminal(repo, tmp_path / "home", "sync")
    shown = on_terminal(repo, tmp_path / "home", *arguments)
    left = OURS.sub("", shown)
    assert "trap" in left or "no\\x1b" in left
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", left)
    assert "\x1b[8m" not in shown


def test_a_search_still_has_colours_and_links(repo: GitRepo, tmp_path: Path):
    on_terminal(repo, tmp_path / "home", "sync")
    shown = on_terminal(repo, tmp_path / "home", "search", "trap")
    assert "\x1b]8;;file://" in shown
    assert "\x1b[1mtrap\x1b[0m" in shown
    assert "\\x1b]0;owned\\x07" in shown
