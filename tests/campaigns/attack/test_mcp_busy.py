"""Whoever keeps a lock, makes a call long or goes away: readers and servers answer or end in time (EN-8)."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from gitindex.config import load_environment
from gitindex.errors import LeaseHeld
from gitindex.mcp.server import Service
from gitindex.model.ids import ulid
from gitindex.ops.syncing.sync_plan import LEASE_WAIT
from gitindex.store import lease, readers
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase, index

SOURCE = Path(__file__).parents[3]
FAR = 60.0  # seconds; what is tested takes a few, without the mechanism it takes for ever


@contextmanager
def kept_alone(repo: GitRepo) -> Iterator[None]:
    """Another holder of readers.lock, as a collection that was stopped would be."""
    descriptor = os.open(codebase(repo.root).layout.readers_lock, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def start(*arguments: str, folder: Path, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gitindex", *arguments]
    variables = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.Popen(command, cwd=folder, env=variables, stdout=subprocess.PIPE, **options)


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    repo.commit("first", **{"a.py": "def alpha():\n    return 1\n"})
    index(repo.root)
    return repo


def test_a_readers_lock_that_is_kept_is_waited_for_in_vain_but_not_for_ever(indexed: GitRepo) -> None:
    """EN-8: search, status and sync answer `busy`, exit 7, and answer as before once the lock is free."""
    commands = (("search", "alpha"), ("status",), ("sync",))
    with kept_alone(indexed):
        running = [start(*command, "--json", folder=indexed.root) for command in commands]
        try:
            for process in running:
                out, _ = process.communicate(timeout=FAR)
                assert process.returncode == 7
                assert json.loads(out)["error"]["code"] == "busy"
                assert json.loads(out)["error"]["hint"] == "try again"
        finally:
            for process in running:
                process.kill()
                process.wait()
    after = start("search", "alpha", "--json", folder=indexed.root)
    assert json.loads(after.communicate(timeout=FAR)[0])["status"] == "ok"


def test_a_tool_call_does_not_wait_for_ever(indexed: GitRepo) -> None:
    """EN-8: the same over MCP: an error that may be retried."""
    service = Service(load_environment(), indexed.root)
    answers: list[dict[str, Any]] = []

    def ask() -> None:
        answers.append(json.loads(service.call("find_symbol", {"name": "alpha"}).text))

    with kept_alone(indexed):
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(FAR)
        assert [answer["error"]["code"] for answer in answers] == ["busy"]
    ask()
    assert answers[-1]["status"] == "ok"


def test_a_refused_reader_leaves_nothing_open(indexed: GitRepo) -> None:
    """EN-8: a descriptor per refusal would end a server as surely as waiting."""
    layout = codebase(indexed.root).layout
    with kept_alone(indexed):
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            with pytest.raises(LeaseHeld):
                readers.ReadersLock(layout, wait=0.0)
        assert len(os.listdir("/proc/self/fd")) == before


def request(number: int, method: str, **parameters: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    return json.dumps(message).encode() + b"\n"


@contextmanager
def serving(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that has been greeted."""
    process = start("mcp", folder=folder, stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        client = {"name": "test", "version": "1"}
        process.stdin.write(
            request(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        )
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 0
        process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.wait()


def call(process: subprocess.Popen[bytes], number: int, name: str, **arguments: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(request(number, "tools/call", name=name, arguments=arguments))
    process.stdin.flush()


def test_a_busy_call_holds_up_neither_other_calls_nor_the_end(indexed: GitRepo) -> None:
    """EN-8: a sync that waits half a minute for another writer; then the client goes away."""
    indexed.write("a.py", "def alpha():\n    return 2\n")
    layout = codebase(indexed.root).layout
    with lease.hold(layout, ulid(), wait=5.0), serving(indexed.root) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        call(process, 1, "manage_index", action="sync")
        call(process, 2, "list_codebases")
        assert json.loads(process.stdout.readline())["id"] == 2
        process.stdin.close()
        assert process.wait(timeout=LEASE_WAIT / 2) == 0


def test_a_rebuild_in_the_background_does_not_keep_the_server(repo: GitRepo) -> None:
    """EN-8: nor do the processes it started outlive the server."""
    repo.commit("first", **{f"m{at}.py": f"def f{at}():\n    return {at}\n" * 40 for at in range(600)})
    with serving(repo.root) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        call(process, 1, "manage_index", action="create")
        assert json.loads(process.stdout.readline())["id"] == 1
        server = psutil.Process(process.pid)
        until = time.monotonic() + FAR
        while not (children := server.children(recursive=True)) and time.monotonic() < until:
            time.sleep(0.02)
        process.stdin.close()
        assert process.wait(timeout=FAR) == 0
        _, alive = psutil.wait_procs(children, timeout=FAR)
        assert alive == []


def test_answers_that_nobody_reads_do_not_keep_the_server(indexed: GitRepo) -> None:
    """EN-8: the pipe is full and stays so; stdin is closed."""
    with serving(indexed.root) as process:
        assert process.stdin is not None
        for number in range(1, 60):  # each answer has some ten thousand characters
            process.stdin.write(request(number, "tools/list"))
        process.stdin.close()
        assert process.wait(timeout=FAR) == 0
