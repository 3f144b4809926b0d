"""Foreground reads change nothing (EN-5): every one of them, against stores in every state."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitindex.config import Environment
from gitindex.mcp.server import Service
from gitindex.mcp.tool_schemas import TOOLS as MCP_TOOLS
from gitindex.ops.codebase import Codebase
from tests.gate import forge
from tests.gate.conftest import READS, TOOLS
from tests.support.gitrepo import GitRepo
from tests.support.harness import cli

FOREGROUND = (
    *READS,
    ("state", "app/core.py"),
    ("status",),
    ("health",),
    ("list",),
    ("stores",),
    ("audit", "--digest"),
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = (
    *("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    *("os.chmod", "os.utime", "shutil.rmtree"),
)
_watched: dict[str, list[str]] = {}


def _audit(event: str, arguments: tuple) -> None:
    for folder, seen in _watched.items():
        if event == "open":
            path, _, flags = arguments
            if str(path).startswith(folder) and flags & _WRITING:
                seen.append(f"open {path}")
        elif event in _CHANGES and any(str(part).startswith(folder) for part in arguments):
            seen.append(f"{event} {arguments}")


sys.addaudithook(_audit)


@pytest.fixture
def watched(home: Path) -> Iterator[list[str]]:
    """Every attempt of this process to change something below the stores."""
    folder = str(home / ".gitindex")
    _watched[folder] = []
    yield _watched[folder]
    del _watched[folder]


def _whole(_: Codebase) -> None:
    pass


def _stale(codebase: Codebase) -> None:
    forge.remark(codebase, forge.NO_MARKER)


def _abandoned(codebase: Codebase) -> None:
    forge.abandon(codebase)


def _no_pointer(codebase: Codebase) -> None:
    codebase.layout.active_pointer.unlink()


def _torn_state(codebase: Codebase) -> None:
    codebase.layout.state.write_bytes(b"{")


def _damaged_table(codebase: Codebase) -> None:
    forge.break_probe(codebase)


@pytest.mark.parametrize(
    "accident",
    [_whole, _stale, _abandoned, _no_pointer, _torn_state, _damaged_table],
    ids=lambda made: made.__name__,
)
def test_every_foreground_command_leaves_the_store_alone(
    indexed: Codebase, watched: list[str], accident: Callable[[Codebase], None]
) -> None:
    """EN-5: bytes, inodes and times of every file are the same after each command, and no write was tried."""
    accident(indexed)
    before = forge.stamps(indexed.home)
    watched.clear()
    for read in FOREGROUND:
        ran = cli(*read, "--json", "--path", str(indexed.root))
        assert ran.code in (0, 1, 3, 4), (read, ran.err)
        assert ran.json["status"], read
        assert watched == [], read
    assert forge.stamps(indexed.home) == before


def test_every_reading_tool_leaves_the_store_alone(indexed: Codebase, watched: list[str]) -> None:
    """EN-5 over MCP: every tool marked as reading only is one."""
    service = Service(Environment(indexed.home), indexed.root)
    calls = [*TOOLS, ("list_codebases", {}), ("manage_index", {"action": "status"})]
    assert {name for name, _ in calls} >= {tool.name for tool in MCP_TOOLS if tool.is_read_only}
    before = forge.stamps(indexed.home)
    watched.clear()
    for name, arguments in calls:
        assert not service.call(name, dict(arguments)).failed, name
        assert watched == [], name
    assert forge.stamps(indexed.home) == before


def test_reads_work_on_a_store_nobody_may_write(indexed: Codebase) -> None:
    """EN-5: with every permission to write taken away, reads answer as before."""
    for where, folders, names in os.walk(indexed.home):
        for name in (*folders, *names):
            path = Path(where, name)
            path.chmod(path.stat().st_mode & 0o555)
    try:
        for read in READS:
            assert cli(*read, "--json", "--path", str(indexed.root)).code == 0, read
    finally:
        for where, folders, _ in os.walk(indexed.home):
            for name in folders:
                Path(where, name).chmod(0o700)


def test_reads_of_nothing_make_nothing(project: GitRepo, home: Path) -> None:
    """EN-5: asking about a codebase that was never indexed creates no store."""
    for read in FOREGROUND:
        cli(*read, "--json", "--path", str(project.root))
    assert not (home / ".gitindex").exists()
