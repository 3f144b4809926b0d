"""Every way to bring an index up to date is one way: the same request served, the same upkeep, the same patience."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitindex.config import load_environment
from gitindex.gitdir import hookrequest
from gitindex.gitdir.hookrequest import HookRequest
from gitindex.lifecycle import maintenance_due
from gitindex.mcp.server import Service
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing import catchup, maintenance
from gitindex.store import lease, manifests
from tests.gate import forge
from tests.gate.conftest import READS, TOOLS
from tests.support.harness import cli, digest_of

NEW = "app/fresh.py"
WAYS = (("sync",), ("init", "--no-hooks"), ("sync", "--full"), *((*read, "--sync") for read in READS))
SYNCING_TOOLS = (
    ("manage_index", {"action": "sync"}),
    *((name, {**given, "sync": True}) for name, given in TOOLS),
)


def tool(root: Path, name: str, given: dict[str, Any]) -> dict[str, Any]:
    answer = json.loads(Service(load_environment(), root).call(name, {"path": str(root), **given}).text)
    assert isinstance(answer, dict)
    return answer


def ask_for_a_sync(codebase: Codebase) -> Path:
    assert codebase.repo is not None
    hookrequest.write_request(codebase.repo.git_dir, HookRequest(commit_only=False))
    (codebase.root / NEW).write_text("def fresh():\n    return 1\n")
    return codebase.repo.git_dir


def is_indexed(codebase: Codebase) -> bool:
    return cli("symbol", "fresh", "--json", "--path", str(codebase.root)).code == 0


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_every_command_that_syncs_serves_the_hooks(indexed: Codebase, way: tuple[str, ...]) -> None:
    """HK-3, HK-5: what a hook asked for is done once any sync is done."""
    git_dir = ask_for_a_sync(indexed)
    assert cli(*way, "--json", "--path", str(indexed.root)).code == 0
    assert is_indexed(indexed)
    assert not hookrequest.has_request(git_dir)


@pytest.mark.parametrize(("name", "given"), SYNCING_TOOLS, ids=lambda value: str(value)[:40])
def test_every_tool_that_syncs_serves_the_hooks(indexed: Codebase, name: str, given: dict[str, Any]) -> None:
    """HK-3, HK-5, over MCP."""
    git_dir = ask_for_a_sync(indexed)
    assert tool(indexed.root, name, given)["status"] == "ok"
    assert is_indexed(indexed)
    assert not hookrequest.has_request(git_dir)


def test_a_sync_of_commits_leaves_a_request_for_everything(indexed: Codebase) -> None:
    """HK-3: a request is done only when all of it was done."""
    git_dir = ask_for_a_sync(indexed)
    assert cli("sync", "--commit-only", "--json", "--path", str(indexed.root)).code == 0
    assert hookrequest.has_request(git_dir)
    hookrequest.withdraw(git_dir)
    hookrequest.write_request(git_dir, HookRequest(commit_only=True))
    assert cli("sync", "--commit-only", "--json", "--path", str(indexed.root)).code == 0
    assert not hookrequest.has_request(git_dir)


@pytest.mark.parametrize("read", READS, ids=lambda read: read[0])
def test_a_question_is_answered_beside_a_writer(
    indexed: Codebase, read: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """EN-1, HK-5: the last snapshot answers, the answer says so, and the hooks' request is not lost."""
    monkeypatch.setattr(catchup, "READ_WAIT", 0.1)
    git_dir = ask_for_a_sync(indexed)
    with lease.hold(indexed.layout, "other", wait=0):
        ran = cli(*read, "--sync", "--json", "--path", str(indexed.root))
        text = cli(*read, "--sync", "--path", str(indexed.root))
    assert (ran.code, ran.json["status"], ran.json["sync_skipped"]) == (0, "ok", catchup.WRITING)
    assert catchup.WRITING in text.out + text.err
    assert hookrequest.has_request(git_dir)


@pytest.mark.parametrize("read", READS, ids=lambda read: read[0])
def test_a_question_does_not_wait_for_a_rebuild(
    indexed: Codebase, read: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """EN-6: no sync is tried beside a rebuild; the gate answers at once, or the last snapshot when that is fine."""
    monkeypatch.setattr(catchup, "catch_up", _never)
    with forge.rebuilding(indexed):
        blocked = cli(*read, "--sync", "--json", "--path", str(indexed.root))
        served = cli(*read, "--sync", "--stale-ok", "--json", "--path", str(indexed.root))
    assert (blocked.code, blocked.json["reason"]) == (3, "indexing")
    assert (served.code, served.json["sync_skipped"]) == (0, catchup.REBUILDING)


def _never(*_: object, **__: object) -> None:
    raise AssertionError("a sync was tried")


@pytest.mark.parametrize(
    "step",
    [
        lambda root: tool(root, "search_codebase", {"query": "start", "sync": True}),
        lambda root: tool(root, "manage_index", {"action": "sync"}),
        lambda root: cli("search", "start", "--sync", "--json", "--path", str(root)).json,
    ],
    ids=["mcp search", "mcp sync", "search --sync"],
)
def test_segments_stay_below_the_limit_however_one_syncs(
    indexed: Codebase, step: Callable[[Path], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """SN-8: whoever brings the segment that is one too many merges them."""
    monkeypatch.setattr(maintenance_due, "OVERDUE_SEGMENTS", 20)
    for at in range(24):
        (indexed.root / NEW).write_text(f"def fresh():\n    return {at}\n")
        step(indexed.root)
        manifest = manifests.read_active(indexed.layout)
        assert manifest is not None
        assert len(manifest.segments) < 20
    assert is_indexed(indexed)
    assert digest_of(indexed.root)


def test_a_store_at_its_limit_waits_for_its_turn(indexed: Codebase, monkeypatch: pytest.MonkeyPatch) -> None:
    """SN-8: below the hard limit upkeep leaves a busy store to the next sync, at the limit it waits."""
    waits: list[float] = []
    monkeypatch.setattr(maintenance_due, "OVERDUE_SEGMENTS", 1)
    monkeypatch.setattr("gitindex.lifecycle.compact.compact_deltas", lambda _, wait: waits.append(wait))
    maintenance.maintain_after_sync(indexed)
    monkeypatch.setattr(maintenance_due, "MAX_SEGMENTS", 1)
    maintenance.maintain_after_sync(indexed)
    assert waits == [0, maintenance.LIMIT_WAIT]
