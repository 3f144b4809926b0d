"""`gc` and `compact` as functions: what goes, what stays, and that a dry run deletes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.config import load_environment
from gitindex.ops.maintain.collect import collect_snapshots, collect_unused_stores
from gitindex.ops.maintain.compact_store import compact_store
from gitindex.ops.maintain.store_inventory import has_store, list_stores
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return repo


def test_without_an_index_there_is_nothing_to_collect(repo: GitRepo):
    assert collect_snapshots(harness.codebase(repo.root), dry_run=False) is None


def test_a_dry_run_names_leftovers_and_keeps_them(indexed: GitRepo):
    codebase = harness.codebase(indexed.root)
    stray = codebase.layout.segments / "seg_stray"
    stray.mkdir()
    (stray / "file").write_bytes(b"x" * 1000)
    dry = collect_snapshots(codebase, dry_run=True)
    assert dry is not None
    assert (dry.removed, dry.bytes_freed) == (("segments/seg_stray",), 1000)
    assert stray.exists()
    done = collect_snapshots(codebase, dry_run=False)
    assert done is not None
    assert (done.removed, done.kept) == (dry.removed, dry.kept)
    assert not stray.exists()
    assert len(done.kept) == 1


def test_the_store_of_the_current_codebase_stays_without_force(indexed: GitRepo, tmp_path: Path):
    environment = load_environment()
    here = collect_unused_stores(indexed.root, environment, days=0, force=False, dry_run=True)
    assert (len(here.removed), len(here.kept)) == (0, 1)
    elsewhere = collect_unused_stores(tmp_path / "gone", environment, days=0, force=False, dry_run=True)
    assert (len(elsewhere.removed), len(elsewhere.kept)) == (1, 0)
    young = collect_unused_stores(tmp_path / "gone", environment, days=1, force=False, dry_run=False)
    assert young.removed == ()
    assert len(list_stores(environment)) == 1


def test_a_store_belongs_to_one_root(indexed: GitRepo, home: Path):
    store_home = load_environment().home
    assert has_store(store_home, indexed.root.resolve())
    assert not has_store(store_home, indexed.root.resolve().parent)
    harness.codebase(indexed.root).layout.state.unlink()
    assert not has_store(store_home, indexed.root.resolve())


def test_one_segment_is_not_merged(indexed: GitRepo):
    assert compact_store(harness.codebase(indexed.root)) is None
    indexed.commit("two", **{"b.py": "def beta():\n    return 2\n"})
    harness.index(indexed.root)
    report = compact_store(harness.codebase(indexed.root))
    assert report is not None
    assert (report.segments_before, report.segments_after) == (2, 1)
