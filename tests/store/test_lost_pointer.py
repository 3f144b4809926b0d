"""A store that has published is never taken for one that has not (SN-11)."""

from __future__ import annotations

import shutil

import pytest

from gitindex.store import manifests
from gitindex.store.layout import Layout
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.support.midway import once_at


@pytest.fixture
def layout(repo: GitRepo) -> Layout:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return harness.codebase(repo.root).layout


def garble_manifests(layout: Layout) -> None:
    for snapshot_id in manifests.list_ids(layout):
        layout.manifest(snapshot_id).write_bytes(b"garbage")


def garble_manifests_and_state(layout: Layout) -> None:
    garble_manifests(layout)
    layout.state.write_bytes(b"garbage")


def remove_snapshots(layout: Layout) -> None:
    shutil.rmtree(layout.snapshots)


@pytest.mark.parametrize(
    "lose", [garble_manifests, garble_manifests_and_state, remove_snapshots], ids=lambda lose: lose.__name__
)
def test_no_pointer_and_no_manifest_is_corrupt(lose, layout: Layout, repo: GitRepo):
    """SN-11: exit 4 with the command to run, from whoever reads it; `repair` runs that command itself."""
    layout.active_pointer.unlink()
    lose(layout)
    at = ("--json", "--path", str(repo.root))
    for command in (("symbol", "alpha"), ("health",), ("audit",), ("sync",), ("gc",), ("stats",)):
        ran = harness.cli(*command, *at)
        assert (ran.code, ran.json["error"]["code"]) == (4, "store_corrupt"), (command, ran.out)
        assert ran.json["error"]["hint"] == "gitindex sync --full"
    status = harness.cli("status", *at)
    assert (status.code, status.json["status"]) == (4, "corrupt")
    assert harness.cli("repair", *at).json["scope"] == "full"
    assert harness.audited(repo.root).is_clean


def test_a_missing_pointer_is_listed(layout: Layout, repo: GitRepo):
    """EN-5: `list` names what is wrong and changes nothing."""
    layout.active_pointer.unlink()
    (entry,) = harness.cli("list", "--json", "--path", str(repo.root)).json["codebases"]
    assert entry["problems"] == ["ACTIVE_SNAPSHOT is missing"]


def test_a_first_publish_that_died_left_no_index(repo: GitRepo):
    """SN-11: a manifest that never became visible is nothing to repair."""
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})

    def die() -> None:
        raise KeyboardInterrupt

    with once_at("publish.swap", die), pytest.raises(KeyboardInterrupt):
        harness.index(repo.root)
    assert manifests.list_ids(harness.codebase(repo.root).layout)
    ran = harness.cli("audit", "--json", "--path", str(repo.root))
    assert (ran.code, ran.json["status"]) == (3, "not_indexed")
    assert harness.cli("gc", "--path", str(repo.root)).code == 0
