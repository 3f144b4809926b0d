"""ST-4: what a sync builds upon: the active snapshot, else a sibling's, else nothing."""

from __future__ import annotations

from pathlib import Path

from gitindex.ops.codebase import initial_store_state
from gitindex.ops.syncing.parent_snapshot import open_parent
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.store import stores
from tests.support import harness
from tests.support.gitrepo import GitRepo


def test_the_active_snapshot_is_the_parent(repo: GitRepo):
    repo.commit("A", **{"a.py": "A = 1\n"})
    snapshot_id = harness.index(repo.root).snapshot_id
    codebase = harness.codebase(repo.root)
    with open_parent(codebase, SyncOptions()) as parent:
        assert parent.view is not None
        assert (parent.view.manifest.snapshot_id, parent.seeded_from) == (snapshot_id, None)
    with open_parent(codebase, SyncOptions(full=True)) as parent:
        assert parent.view is None


def test_without_any_snapshot_there_is_no_parent(repo: GitRepo):
    repo.commit("A", **{"a.py": "A = 1\n"})
    with open_parent(harness.codebase(repo.root), SyncOptions()) as parent:
        assert (parent.view, parent.seeded_from) == (None, None)


def test_a_worktree_is_seeded_from_its_sibling(repo: GitRepo, tmp_path: Path):
    repo.commit("A", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    repo.git("worktree", "add", "-q", str(tmp_path / "other"))
    codebase = harness.codebase(tmp_path / "other")
    stores.create(codebase.layout, initial_store_state(codebase))
    with open_parent(codebase, SyncOptions()) as parent:
        assert parent.view is not None
        assert parent.seeded_from == harness.codebase(repo.root).layout.id
        assert parent.view.layout == codebase.layout, "linked, not read in place"
        assert [record.path for record in parent.view.records()] == ["a.py"]


def test_a_damaged_sibling_is_no_parent(repo: GitRepo, tmp_path: Path):
    repo.commit("A", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    for facts in harness.codebase(repo.root).layout.base.rglob("facts*"):
        facts.chmod(0o600)
        facts.write_bytes(b"damaged")
    repo.git("worktree", "add", "-q", str(tmp_path / "other"))
    codebase = harness.codebase(tmp_path / "other")
    stores.create(codebase.layout, initial_store_state(codebase))
    with open_parent(codebase, SyncOptions()) as parent:
        assert (parent.view, parent.seeded_from) == (None, None)
