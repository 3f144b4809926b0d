"""A server that answers and syncs all day keeps as much open as one question needs (EN-8, SZ-3)."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitindex.config import load_environment
from gitindex.lifecycle import maintenance_due, tiers
from gitindex.mcp import memory
from gitindex.mcp.server import Service
from gitindex.ops.answers import search_engines
from gitindex.search.request import Request
from gitindex.store import manifests
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase, index, view


@pytest.fixture
def indexed(repo: GitRepo) -> Iterator[GitRepo]:
    """No garbage collector, which would hide a while later what was left open."""
    repo.commit("first", **{"a.py": "def alpha():\n    return 1\n", "b.py": "def beta():\n    return 2\n"})
    index(repo.root)
    gc.disable()
    yield repo
    gc.enable()


def open_files(below: Path) -> list[str]:
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:  # the listing's own
            continue
        if target.startswith(str(below)):
            found.append(target)
    return found


def say(service: Service, name: str, /, **arguments: Any) -> dict[str, Any]:
    answer = json.loads(service.call(name, arguments).text)
    assert answer["status"] == "ok", answer
    return answer


def test_replaced_engines_are_closed(indexed: GitRepo) -> None:
    """EN-8: after many syncs only files of the present snapshot are open, each once."""
    service = Service(load_environment(), indexed.root)
    layout = codebase(indexed.root).layout
    for number in range(8):
        indexed.write("a.py", f"def alpha():\n    return {number}\n")
        say(service, "search_codebase", query="alpha", sync=True)
        say(service, "search_codebase", query="beta", mode="regex")
    found = open_files(layout.base)
    manifest = manifests.read_active(layout)
    assert manifest is not None
    assert len(found) <= len(manifest.segments)
    assert len(set(found)) == len(found)


def test_an_engine_is_not_closed_under_a_question(indexed: GitRepo) -> None:
    """EN-8: the question that began before a sync ends as it began; then the engine is closed."""
    opened = codebase(indexed.root)
    request = Request(query="alpha", mode="symbol")
    with (
        view(indexed.root) as before,
        search_engines.use_engine(opened, before, lambda _settings: None) as old,
    ):
        assert old.search(request).hits
        indexed.write("c.py", "def alpha():\n    return 3\n")
        index(indexed.root)
        with (
            view(indexed.root) as after,
            search_engines.use_engine(opened, after, lambda _settings: None) as new,
        ):
            assert len(new.search(request).hits) == 2
            assert len(old.search(request).hits) == 1
    assert old.view._facts == {}
    search_engines.close(opened)
    assert new.view._facts == {}
    assert open_files(opened.layout.base) == []


def test_syncs_over_mcp_compact(indexed: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """EN-8, SN-8: a server that only ever syncs does not pile up segments."""
    most = tiers.MAX_LARGE_SEGMENTS + 2
    monkeypatch.setattr(maintenance_due, "OVERDUE_SEGMENTS", most)
    service = Service(load_environment(), indexed.root)
    layout = codebase(indexed.root).layout
    for number in range(most + 3):
        indexed.write("a.py", f"def alpha():\n    return {number}\n")
        if number % 2:
            say(service, "manage_index", action="sync")
        else:
            say(service, "find_symbol", name="alpha", sync=True)
    manifest = manifests.read_active(layout)
    assert manifest is not None
    assert len(manifest.segments) < most


def test_a_sync_gives_memory_back(indexed: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """SZ-3: after every call that may have indexed something, and after no other."""
    given: list[str] = []
    monkeypatch.setattr(memory, "trim_heap", lambda: given.append("back"))
    service = Service(load_environment(), indexed.root)
    say(service, "find_symbol", name="alpha")
    assert given == []
    say(service, "find_symbol", name="alpha", sync=True)
    say(service, "manage_index", action="sync")
    say(service, "manage_index", action="reindex", wait=True)
    assert len(given) == 3


def test_the_allocator_takes_the_settings() -> None:
    """SZ-3: with glibc both calls do something; without it neither fails."""
    memory.limit_arenas()
    memory.trim_heap()
    assert memory._load_glibc() is None or memory._load_glibc().malloc_trim(0) in (0, 1)
