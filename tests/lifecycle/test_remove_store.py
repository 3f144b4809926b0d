"""A store is removed only when no process writes, builds or reads it (ST-5, SN-9)."""

from __future__ import annotations

import pytest

from gitindex.errors import LeaseHeld
from gitindex.lifecycle.removal import remove_store
from gitindex.model.ids import ulid
from gitindex.store import atomic, lease, staging
from gitindex.store.layout import Layout
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def layout(repo: GitRepo) -> Layout:
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    return harness.codebase(repo.root).layout


def test_a_dry_run_returns_the_size_and_removes_nothing(layout: Layout) -> None:
    size = atomic.tree_size(layout.base)
    assert remove_store(layout, dry_run=True) == size > 0
    assert atomic.tree_size(layout.base) == size
    assert remove_store(layout) == size
    assert not layout.base.exists()
    assert not layout.last_used.exists()


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_writer_a_builder_or_a_reader_keeps_the_store(layout: Layout, repo: GitRepo, dry_run: bool) -> None:
    with lease.hold(layout, ulid()), pytest.raises(LeaseHeld, match="another writer"):
        remove_store(layout, dry_run=dry_run)
    with staging.open_transaction(layout, ulid()), pytest.raises(LeaseHeld, match="builds a snapshot"):
        remove_store(layout, dry_run=dry_run)
    with harness.view(repo.root), pytest.raises(LeaseHeld, match="readers are busy"):
        remove_store(layout, dry_run=dry_run)
    assert layout.active_pointer.exists()


def test_a_store_whose_creation_never_finished_is_removed_without_locks(layout: Layout) -> None:
    layout.readers_lock.unlink()
    with lease.hold(layout, ulid()):
        remove_store(layout)
    assert not layout.base.exists()
