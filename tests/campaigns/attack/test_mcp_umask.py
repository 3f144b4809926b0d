"""The umask belongs to the process: indexing in one thread of a server changes nothing for the others (ST-3)."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitindex.config import load_environment
from gitindex.mcp.server import Service
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """Files of everybody else are readable, as on most machines."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_overlapping_syncs_leave_the_umask_alone(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ST-3: two that overlapped restored each other's, and the server kept 077; now nobody sets it at all."""
    other = GitRepo.create(tmp_path / "other")
    for at, made in enumerate((repo, other)):
        made.commit(
            "first", **{f"m{number}.py": f"def f{number}():\n    return {at}\n" for number in range(20)}
        )
    real, asked = os.umask, []
    monkeypatch.setattr(os, "umask", lambda value: asked.append(value) or real(value))
    services = [Service(load_environment(), made.root) for made in (repo, other)]
    answers: list[str] = []

    def create(service: Service) -> None:
        answers.append(service.call("manage_index", {"action": "create", "wait": True}).text)

    threads = [threading.Thread(target=create, args=(service,)) for service in services]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [json.loads(answer)["status"] for answer in answers] == ["ok", "ok"]
    assert asked == []
    (tmp_path / "bystander").write_text("somebody else's file")
    assert mode(tmp_path / "bystander") == 0o644


def test_what_is_made_on_the_way_to_a_store_is_private(repo: GitRepo) -> None:
    """ST-3: the home of all stores, made with the first one, and every entry of the store, under a usual umask."""
    repo.commit("first", **{"a.py": "A = 1\n"})
    service = Service(load_environment(), repo.root)
    for action in ("create", "reindex"):
        assert (
            json.loads(service.call("manage_index", {"action": action, "wait": True}).text)["status"] == "ok"
        )
    service.call("search_codebase", {"query": "A", "sync": True})
    base = codebase(repo.root).layout.base
    home = load_environment().home
    assert {mode(home), mode(home / "data"), mode(home / "used")} == {0o700}
    for path in (base, *base.rglob("*")):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path
