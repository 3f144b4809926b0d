"""Damaged control files are found and rebuilt; what another release wrote is not damage (LE-3, SN-11)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from gitindex.lifecycle import control_files
from gitindex.store import lease, manifests, state_file
from gitindex.store.layout import Layout
from gitindex.store.state_file import StoreState
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def layout(repo: GitRepo) -> Layout:
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    return harness.codebase(repo.root).layout


@pytest.fixture
def initial_state(layout: Layout) -> StoreState:
    state = state_file.read(layout)
    assert state is not None
    return replace(state, active_snapshot_id=None, state="not_found")


def test_intact_and_missing_files_are_not_damaged(layout: Layout) -> None:
    assert control_files.find_damaged_files(layout) == ()
    layout.lease.unlink()
    assert not layout.control.exists()
    assert control_files.find_damaged_files(layout) == ()


def test_every_damaged_file_is_named_and_rebuilt(layout: Layout, initial_state: StoreState) -> None:
    for path in (layout.state, layout.lease, layout.control):
        path.write_bytes(b"damaged" * 1000)
    layout.control.with_name(layout.control.name + "-wal").write_bytes(b"journal")
    assert control_files.find_damaged_files(layout) == (
        "index_state.json",
        "locks/writer_lease.json",
        "control.sqlite",
    )
    epoch = manifests.highest_epoch(layout, manifests.list_ids(layout))
    control_files.repair_files(layout, initial_state)
    assert control_files.find_damaged_files(layout) == ()
    rebuilt_state, rebuilt_lease = state_file.read(layout), lease.read(layout)
    assert rebuilt_state is not None
    assert rebuilt_lease is not None
    assert rebuilt_state.active_snapshot_id == manifests.read_active_id(layout)
    assert rebuilt_state.state == "indexed"
    assert rebuilt_state.mode == "single"
    assert (rebuilt_lease.released, rebuilt_lease.lease_epoch) == (True, epoch)
    assert epoch > 0
    assert layout.control.read_bytes() == b""
    assert not layout.control.with_name(layout.control.name + "-wal").exists()


def test_an_intact_queue_is_kept_and_a_damaged_page_found(layout: Layout, initial_state: StoreState) -> None:
    with closing(sqlite3.connect(layout.control)) as queue, queue:
        queue.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, text TEXT)")
        queue.executemany("INSERT INTO job (text) VALUES (?)", [("x" * 500,)] * 100)
    control_files.repair_files(layout, initial_state)
    with closing(sqlite3.connect(layout.control)) as queue:
        assert queue.execute("SELECT count(*) FROM job").fetchone() == (100,)
    data = bytearray(layout.control.read_bytes())
    data[4096:4120] = bytes(24)  # the header of the second page
    layout.control.write_bytes(data)
    assert control_files.find_damaged_files(layout) == ("control.sqlite",)


def test_a_locked_queue_is_not_damaged(layout: Layout) -> None:
    with closing(sqlite3.connect(layout.control)) as queue:
        queue.execute("CREATE TABLE job (id INTEGER)")
        queue.commit()
        queue.execute("BEGIN EXCLUSIVE")
        assert control_files.find_damaged_files(layout) == ()
