"""ST-3, ST-4: somebody else's store in a shared GITINDEX_HOME is not believed, not written, and seeds nothing.

What belongs to another user is made by root; where the tests run as somebody else, by the right to write.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitindex.config import load_environment
from gitindex.errors import ConfigError, ForeignStore
from gitindex.ops.codebase import open_codebase
from gitindex.ops.sharing import download_snapshot
from gitindex.store.layout import Layout
from tests.support import harness
from tests.support.gitrepo import GitRepo

PEER = 65534
ROOT = os.geteuid() == 0
only_root = pytest.mark.skipif(not ROOT, reason="only root can make files of another user")


def give_away(path: Path) -> None:
    for entry in (path, *path.rglob("*")):
        os.lchown(entry, PEER, PEER)


def of_another_user(layout: Layout) -> None:
    give_away(layout.base)


def open_to_the_group(layout: Layout) -> None:
    layout.base.chmod(0o770)


def open_to_all(layout: Layout) -> None:
    layout.base.chmod(0o2777)


def a_link(layout: Layout) -> None:
    layout.base.rename(layout.base.with_name("elsewhere"))
    layout.base.symlink_to("elsewhere")


def pointer_of_another_user(layout: Layout) -> None:
    give_away(layout.active_pointer)


def state_that_others_write(layout: Layout) -> None:
    layout.state.chmod(0o666)


def lease_as_a_link(layout: Layout) -> None:
    layout.lease.rename(layout.lease.with_name("aside"))
    layout.lease.symlink_to("aside")


WAYS = [
    pytest.param(of_another_user, marks=only_root),
    pytest.param(pointer_of_another_user, marks=only_root),
    open_to_the_group,
    open_to_all,
    a_link,
    state_that_others_write,
    lease_as_a_link,
]


@pytest.fixture
def planted(repo: GitRepo) -> Layout:
    repo.commit("first", **{"a.py": "def planted(): pass\n"})
    harness.index(repo.root)
    return harness.codebase(repo.root).layout


@pytest.mark.parametrize("way", WAYS)
def test_a_store_of_somebody_else(repo: GitRepo, planted: Layout, way: Callable[[Layout], None]) -> None:
    """ST-3: neither read nor written; the answer names the store and what to do."""
    way(planted)
    before = planted.active_pointer.read_bytes()
    repo.commit("second", **{"a.py": "def mine(): pass\n"})
    for command in (("search", "planted"), ("sync",), ("status",), ("compact",), ("gc",), ("repair",)):
        ran = harness.cli(*command, "--path", str(repo.root), "--json")
        assert ran.code == 1, command
        error = ran.json["error"]
        assert error["code"] == "foreign_store", command
        assert str(planted.base) in error["message"]
        assert error["hint"]
    assert planted.active_pointer.read_bytes() == before


@pytest.mark.parametrize("way", [of_another_user if ROOT else open_to_the_group, open_to_all])
def test_inventories_say_so_and_remove_nothing(
    repo: GitRepo, planted: Layout, way: Callable[[Layout], None]
) -> None:
    """ST-5: `list` and `stores` name it without reading it; `gc --stores` keeps it."""
    way(planted)
    (entry,) = harness.cli("list", "--json").json["codebases"]
    assert (entry["root"], entry["state"], entry["snapshot_id"]) == (None, "foreign", None)
    assert str(planted.base) in entry["problems"][0]
    (info,) = harness.cli("stores", "--json").json["stores"]
    assert (info["canonical_root"], info["active_snapshot_id"]) == ("unknown", None)
    assert str(planted.base) in info["problem"]
    assert str(planted.base) in harness.cli("stores").out
    shutil.rmtree(repo.root)
    repo.root.mkdir()
    done = harness.cli("gc", "--stores", "--days", "0", "--path", str(repo.root.parent), "--json")
    assert done.code == 0, done.err
    assert planted.base.exists()


@pytest.mark.parametrize("way", [of_another_user if ROOT else open_to_the_group, open_to_all])
def test_it_seeds_no_sibling(
    repo: GitRepo, planted: Layout, tmp_path: Path, way: Callable[[Layout], None]
) -> None:
    """ST-4: linked files would stay their owner's to change."""
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    way(planted)
    report = harness.index(tmp_path / "clone")
    assert report.seeded_from is None
    store = harness.codebase(tmp_path / "clone").layout.base
    assert {path.lstat().st_uid for path in (store, *store.rglob("*"))} == {os.geteuid()}


@only_root
def test_a_group_store_that_claims_to_be_single(repo: GitRepo, planted: Layout, tmp_path: Path) -> None:
    """ST-3, ST-4: what the state file of somebody else says about its mode does not matter."""
    give_away(planted.base)
    os.chown(planted.base, PEER, os.getegid())
    planted.base.chmod(0o2770)
    with pytest.raises(ForeignStore, match="belongs to"):
        harness.codebase(repo.root)
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    assert harness.index(tmp_path / "clone").seeded_from is None


@only_root
@pytest.mark.parametrize("gid", [0, 54321])
def test_shared_mode_asks_for_the_group(repo: GitRepo, gid: int) -> None:
    """ST-3: a store of the group is everybody's in it, whoever made it; one of another group is not."""
    repo.commit("first", **{"a.py": "A = 1\n"})
    shared = open_codebase(repo.root, harness.load_environment(), shared=True)
    harness.sync(shared, harness.SyncOptions(workers=1))
    for entry in (shared.layout.base, *shared.layout.base.rglob("*")):
        mode = entry.lstat().st_mode
        os.lchown(entry, PEER, gid)
        entry.chmod(mode & 0o7777)
    if gid in {os.getegid(), *os.getgroups()}:
        assert open_codebase(repo.root, harness.load_environment(), shared=True).layout == shared.layout
    else:
        with pytest.raises(ForeignStore, match="group"):
            open_codebase(repo.root, harness.load_environment(), shared=True)


def test_remembering_use_follows_no_link(repo: GitRepo, planted: Layout, tmp_path: Path) -> None:
    """ST-5: the note of last use lies outside the store, where others may put a link."""
    planted.last_used.unlink()
    planted.last_used.symlink_to(tmp_path / "made by the victim")
    os.utime(planted.last_used, (0, 0), follow_symlinks=False)
    assert harness.cli("search", "planted", "--path", str(repo.root)).code == 0
    repo.commit("second", **{"a.py": "def more(): pass\n"})
    harness.index(repo.root)
    assert not (tmp_path / "made by the victim").exists()


@only_root
def test_a_download_area_of_somebody_else(home: Path) -> None:
    """ST-3: files found there would become files of the store."""
    area = home / ".gitindex/fetch/some-repository"
    area.mkdir(parents=True)
    give_away(area)
    with (
        pytest.raises(ForeignStore, match="belongs to"),
        download_snapshot.lock_download_area(home / ".gitindex", area.name),
    ):
        pass


def test_settings_of_somebody_else(home: Path) -> None:
    """CF-1: what only the user may decide is not decided by whoever may write the home."""
    path = home / ".gitindex/config.toml"
    path.parent.mkdir()
    path.write_text("shared = true\n")
    assert load_environment().user.shared
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="another user"):
        load_environment()
    path.chmod(0o644)
    if ROOT:
        give_away(path)
        with pytest.raises(ConfigError, match="another user"):
            load_environment()


def test_ours_stays_ours(repo: GitRepo, planted: Layout) -> None:
    """ST-3: what every command leaves behind passes the same checks."""
    for command in ("sync", "compact", "gc", "repair", "status", "list"):
        assert harness.cli(command, "--path", str(repo.root)).code == 0
    assert json.loads(planted.state.read_bytes())["mode"] == "single"
