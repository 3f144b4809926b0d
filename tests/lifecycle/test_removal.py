"""`gc --stores` and `clear` never remove a store under somebody who writes, builds or reads it (ST-5, SN-9)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gitindex.errors import LeaseHeld, LeaseLost
from gitindex.model.ids import ulid
from gitindex.ops.maintain import index_actions
from gitindex.store import lease
from gitindex.store.layout import Layout
from tests.campaigns.crash import stopping
from tests.campaigns.crash.crashing import REPOSITORY
from tests.support import harness
from tests.support.gitrepo import GitRepo

READS = """
import sys
from pathlib import Path
from gitindex.store.layout import Layout
from gitindex.view.snapshot import open_active
with open_active(Layout(Path(sys.argv[1]))) as view:
    print(view.manifest.snapshot_id, flush=True)
    sys.stdin.readline()
    print(sum(1 for _ in view.records()), flush=True)
"""


@pytest.fixture
def layout(repo: GitRepo) -> Layout:
    repo.commit("one", **{"a.py": "A = 1\n", "b.py": "B = 1\n"})
    harness.index(repo.root)
    return harness.codebase(repo.root).layout


def collect(tmp_path: Path, *options: str) -> dict[str, Any]:
    """From a place that is no codebase, so that no store is the current one."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    ran = harness.cli("gc", "--stores", "--days", "0", "--json", "--path", str(elsewhere), *options)
    assert ran.code == 0, ran.err
    return ran.json


def check_kept(tmp_path: Path, layout: Layout, reason: str) -> None:
    for options in (("--dry-run",), ()):
        found = collect(tmp_path, *options)
        assert (found["removed"], found["kept"], found["bytes_freed"]) == ([], [layout.id], 0)
        (busy,) = found["busy"]
        assert (busy["store_id"], busy["code"]) == (layout.id, "busy")
        assert reason in busy["message"]
        assert busy["next"]
        assert layout.active_pointer.exists()


@contextmanager
def stopped_at(step: str, operation: str, repo: GitRepo, home: Path) -> Iterator[subprocess.Popen[str]]:
    child = stopping.start(step, operation, repo.root, home / ".gitindex", lease.TTL_MS)
    try:
        yield child
    finally:
        stopping.end(child)


def test_a_writer_in_its_publish(layout: Layout, repo: GitRepo, home: Path, tmp_path: Path):
    """SN-9: left and named; the writer ends well; then the store goes."""
    repo.commit("two", **{"a.py": "A = 2\n"})
    with stopped_at("publish.install", "sync", repo, home) as writer:
        check_kept(tmp_path, layout, f"pid {writer.pid}")
        assert stopping.resume(writer) == "done"
    assert harness.audited(repo.root).is_clean
    assert collect(tmp_path)["removed"] == [layout.id]
    assert not layout.base.exists()


def test_the_first_publish_of_a_store(repo: GitRepo, home: Path, tmp_path: Path):
    """SN-9: nothing is active yet, and nobody reads it."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    layout = harness.codebase(repo.root).layout
    with stopped_at("publish.facts", "sync", repo, home) as writer:
        assert collect(tmp_path)["busy"][0]["store_id"] == layout.id
        assert stopping.resume(writer) == "done"
    assert harness.audited(repo.root).is_clean


def test_a_builder_without_a_lease(layout: Layout, repo: GitRepo, home: Path, tmp_path: Path):
    """SN-8: a compaction that has not asked for the lease yet."""
    repo.commit("two", **{"a.py": "A = 2\n"})
    harness.index(repo.root)
    with stopped_at("compact.publish", "compact", repo, home) as builder:
        check_kept(tmp_path, layout, f"process {builder.pid} builds")
        assert stopping.resume(builder) == "done"


def test_a_reader(layout: Layout, repo: GitRepo, tmp_path: Path):
    """SN-9, IDX.MUST.005: whoever has it open reads on."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    reader = subprocess.Popen(
        [sys.executable, "-c", READS, str(layout.base)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reader.stdout is not None
    assert reader.stdout.readline()
    check_kept(tmp_path, layout, "readers")
    with pytest.raises(LeaseHeld, match="nothing was deleted"):
        index_actions.clear(harness.codebase(repo.root))
    assert reader.communicate("\n", timeout=60)[0] == "2\n"
    assert collect(tmp_path)["removed"] == [layout.id]


def test_text_names_what_was_left(layout: Layout, repo: GitRepo, tmp_path: Path):
    """ST-5: for people too."""
    with lease.hold(layout, ulid()):
        ran = harness.cli("gc", "--stores", "--days", "0", "--path", str(tmp_path))
    assert f"kept {layout.id}: another writer (pid {os.getpid()}" in ran.out


def test_a_lease_that_nobody_can_read(layout: Layout, repo: GitRepo, tmp_path: Path):
    """ST-5: one damaged store does not keep the others."""
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    harness.index(tmp_path / "clone")
    other = harness.codebase(tmp_path / "clone").layout
    layout.lease.write_bytes(b"{")
    found = collect(tmp_path)
    assert (found["removed"], found["kept"]) == ([other.id], [layout.id])
    assert found["busy"][0]["code"] == "store_corrupt"


def test_whoever_comes_after_the_removal(layout: Layout, repo: GitRepo, tmp_path: Path):
    """LE-1: a writer that found the store before it went is told by name; the next sync makes a new one."""
    assert collect(tmp_path)["removed"] == [layout.id]
    with pytest.raises(LeaseLost, match="removed"), lease.hold(layout, ulid()):
        pass
    assert harness.index(repo.root).counts["files"] == 2


def test_an_unfinished_store_goes(layout: Layout, tmp_path: Path):
    """ST-5: made by a process that died before the locks were there."""
    layout.readers_lock.unlink()
    assert collect(tmp_path)["removed"] == [layout.id]
