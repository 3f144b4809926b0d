"""Long answers on a terminal go through a pager; programs never meet one (UI-1)."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from gitindex.cli.pager import choose_pager, is_long
from tests.support.gitrepo import GitRepo
from tests.support.harness import index

SOURCE = Path(__file__).parents[2]


def at_terminal(folder: Path, *arguments: str, **variables: str) -> str:
    """What `gitindex` shows on a terminal of twelve lines."""
    master, slave = pty.openpty()
    environ = {**os.environ, "PYTHONPATH": str(SOURCE), "TERM": "xterm", "LINES": "12", **variables}
    command = [sys.executable, "-m", "gitindex", *arguments]
    running = subprocess.Popen(command, cwd=folder, env=environ, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    with suppress(OSError):  # how Linux tells that the other end is closed
        while data := os.read(master, 65536):
            shown += data
    os.close(master)
    assert running.wait() == 0, shown
    return shown.decode()


def test_long_answers_are_paged_at_a_terminal_alone(repo: GitRepo, tmp_path: Path) -> None:
    """UI-1: GITINDEX_PAGER sees all of a long answer and nothing else; --no-pager, --json and short answers do not."""
    repo.commit(
        "first", **{"long.py": "def one(): pass\n\n\n" * 30, "short.py": "def only():\n    return 1\n"}
    )
    index(repo.root)
    seen = tmp_path / "seen"
    pager = {"GITINDEX_PAGER": f"cat > {seen}", "PAGER": "false"}

    assert "one" not in at_terminal(repo.root, "outline", "long.py", **pager)
    assert seen.read_text().count("one") == 30
    seen.unlink()
    for arguments in (
        ("--no-pager", "outline", "long.py"),
        ("outline", "long.py", "--json"),
        ("outline", "short.py"),
    ):
        assert "on" in at_terminal(repo.root, *arguments, **pager)
        assert not seen.exists(), arguments


def test_a_pager_that_is_not_there_hides_nothing(repo: GitRepo) -> None:
    repo.commit("first", **{"long.py": "def one(): pass\n\n\n" * 30})
    index(repo.root)
    assert at_terminal(repo.root, "outline", "long.py", PAGER="no-such-pager").count("one") >= 30


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"GITINDEX_PAGER": "most", "PAGER": "more"}, "most"),
        ({"PAGER": "more -s"}, "more -s"),
        ({"GITINDEX_PAGER": "cat", "PAGER": "more"}, ""),
        ({"GITINDEX_PAGER": "", "PAGER": "more"}, ""),
        ({"PAGER": "more", "TERM": "dumb"}, ""),
    ],
)
def test_the_pager_is_chosen_as_git_chooses(variables: dict[str, str], expected: str) -> None:
    assert choose_pager(variables) == expected


def test_what_fits_the_terminal_is_not_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "5")
    assert [is_long("\n" * breaks) for breaks in (0, 3, 4)] == [False, False, True]
