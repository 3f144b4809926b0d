"""Whose a staging folder is, and who may remove it (LE-1, SN-8, SN-9)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitindex.lifecycle import gc
from gitindex.model.ids import ulid
from gitindex.store import clock, lease, staging
from gitindex.store.layout import Layout
from tests.campaigns.crash import stopping
from tests.campaigns.crash.crashing import REPOSITORY, kill_at
from tests.support import harness
from tests.support.gitrepo import GitRepo

DIES = """
import os, sys
from pathlib import Path
from gitindex.store import staging
from gitindex.store.layout import Layout
with staging.open_transaction(Layout(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])) as folder:
    (folder / "half").write_bytes(b"x" * 1000)
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def layout(repo: GitRepo, home: Path) -> Layout:
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    return harness.codebase(repo.root).layout


def die_in_staging(layout: Layout, epoch: int = 0) -> Path:
    txn = ulid()
    command = [sys.executable, "-c", DIES, str(layout.base), txn, str(epoch)]
    done = subprocess.run(command, cwd=REPOSITORY, check=False)
    assert done.returncode == -signal.SIGKILL
    folder = layout.transaction(txn)
    assert (folder / "half").exists()
    return folder


@pytest.mark.parametrize("step", ["publish.facts", "publish.flush", "publish.hash"])
def test_the_next_writer_removes_what_a_dead_one_left(step: str, repo: GitRepo, home: Path):
    """LE-1: at once, not after thirty minutes."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    layout = harness.codebase(repo.root).layout
    repo.commit("two", **{"a.py": "A = 2\n"})
    assert kill_at(step, "sync", repo.root, home / ".gitindex") == -signal.SIGKILL
    assert list(layout.staging.iterdir())
    harness.index(repo.root)
    assert list(layout.staging.iterdir()) == []
    assert harness.audited(repo.root).is_clean


@pytest.mark.parametrize("epoch", [0, 3])
def test_a_dead_builder_is_known_by_its_lock(layout: Layout, epoch: int):
    """LE-1, SN-8: with a lease or without one."""
    folder = die_in_staging(layout, epoch)
    with lease.hold(layout, ulid()) as held:
        assert not folder.exists()
        assert held.removed_leftovers[folder] > 1000


def test_gc_counts_what_the_lease_removed(layout: Layout, repo: GitRepo):
    """SN-9: a dry run tells what the collection then does."""
    folder = die_in_staging(layout)
    at = ("gc", "--json", "--path", str(repo.root))
    planned = harness.cli(*at, "--dry-run").json
    assert planned["paths"] == [f"staging/{folder.name}"]
    assert folder.exists()
    done = harness.cli(*at).json
    assert (done["paths"], done["bytes_freed"]) == (planned["paths"], planned["bytes_freed"])
    assert not folder.exists()


def test_a_builder_without_a_lease_keeps_its_folder(layout: Layout):
    """SN-8: however many leases others take, and however old it is by its name."""
    ancient = ulid(time.time_ns() // 1_000_000 - 3 * 3600_000)
    with staging.open_transaction(layout, ancient) as folder:
        for _ in range(2):
            with lease.hold(layout, ulid()):
                assert folder.exists()
        gc.collect(layout)
        gc.collect(layout, now=harness.LATER)
        assert folder.exists()
        assert [one.pid for one in staging.find_builders(layout)] == [os.getpid()]
    assert list(layout.staging.iterdir()) == []


def test_an_older_lease_owns_nothing(layout: Layout):
    """LE-1: though its process lives; the present lease keeps its own."""
    with staging.open_transaction(layout, ulid(), 1) as older, lease.hold(layout, ulid()) as held:
        assert held.epoch > 1
        assert not older.exists()
        with staging.open_transaction(layout, ulid(), held.epoch) as own:
            held.clean_staging()
            assert own.exists()


def test_a_builder_that_gets_the_lease_builds_for_it(layout: Layout):
    """SN-8, LE-1: compaction begins without one; once it was robbed, its folder is a leftover."""
    txn = ulid()
    with staging.open_transaction(layout, txn) as folder:
        with lease.hold(layout, txn):
            assert [one.lease_epoch for one in staging.find_builders(layout)] != [0]
            assert folder.exists()
        with lease.hold(layout, ulid()):
            assert not folder.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 1}', b'{"pid": 1, "lease_epoch": "x"}'])
def test_what_nobody_owns_goes_by_its_age(layout: Layout, content: bytes):
    """SN-9: a record that cannot be read says nothing; gc waits for thirty minutes."""
    now = time.time_ns() // 1_000_000
    old, young = ulid(now - 31 * 60_000), ulid(now - 29 * 60_000)
    for name in (old, young):
        layout.transaction(name).mkdir()
        (layout.transaction(name) / staging.RECORD_NAME).write_bytes(content)
    with lease.hold(layout, ulid()):
        assert len(list(layout.staging.iterdir())) == 2
    gc.collect(layout, now=clock.read_clock())
    assert [path.name for path in layout.staging.iterdir()] == [young]


def test_a_compaction_at_work_outlives_other_writers(repo: GitRepo, home: Path):
    """SN-8: stopped before it asks for the lease; others sync and collect; it goes on and publishes on top."""
    for number in range(3):
        repo.commit(f"{number}", **{"a.py": f"A = {number}\n"})
        harness.index(repo.root)
    layout = harness.codebase(repo.root).layout
    child = stopping.start("compact.publish", "compact", repo.root, home / ".gitindex")
    try:
        (folder,) = layout.staging.iterdir()
        repo.commit("more", **{"b.py": "B = 1\n"})
        harness.index(repo.root)
        assert folder.exists()
        assert stopping.resume(child) == "done"
    finally:
        stopping.end(child)
    assert list(layout.staging.iterdir()) == []
    assert harness.audited(repo.root).is_clean
