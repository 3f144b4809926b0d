"""Permissions of single and shared stores (ST-3)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gitindex.errors import StoreNotShareable, UsageError
from gitindex.ops.codebase import initial_store_state, open_codebase
from gitindex.ops.syncing.maintenance import maintain_after_sync
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.store import capability, stores
from tests.campaigns.share.team import Team
from tests.support import harness
from tests.support.gitrepo import GitRepo


def modes(base: Path) -> dict[str, int]:
    return {
        str(path.relative_to(base)): stat.S_IMODE(path.lstat().st_mode)
        for path in (base, *sorted(base.rglob("*")))
    }


@pytest.fixture(autouse=True)
def open_umask():
    """The user's own umask must not matter."""
    before = os.umask(0)
    yield
    os.umask(before)


def exercise(repo: GitRepo, *, shared: bool) -> Path:
    """Everything that writes into a store."""
    repo.commit(
        "one",
        **{
            ".gitindex.toml": "[embedding]\nprovider = 'fake'\n",
            "a.py": "A = 1\n",
            "b.md": "---\ntags: [x]\n---\n# B\n",
        },
    )
    codebase = open_codebase(repo.root, harness.load_environment(), shared=shared)
    sync(codebase, SyncOptions(workers=1))
    repo.commit("two", **{"a.py": "A = 2\n"})
    sync(codebase, SyncOptions(workers=1))
    maintain_after_sync(codebase)
    if not shared:
        for command in ("compact", "gc", "repair", "status", "audit"):
            assert harness.cli(command, "--path", str(repo.root)).code == 0
    return codebase.layout.base


def test_single_stores_are_private(repo: GitRepo):
    """ST-3: 0700 and 0600 for every entry, those of Tantivy, Lance and SQLite included."""
    base = exercise(repo, shared=False)
    for path, mode in modes(base).items():
        wanted = 0o700 if (base / path).is_dir() else 0o600
        assert mode == wanted, f"{path}: {mode:o}"


def test_shared_stores_belong_to_the_group(repo: GitRepo):
    """ST-3: setgid directories and group-writable files; nothing for others."""
    base = exercise(repo, shared=True)
    for path, mode in modes(base).items():
        wanted = 0o2770 if (base / path).is_dir() else 0o660
        assert mode == wanted, f"{path}: {mode:o}"


def test_what_is_fetched_and_built_is_as_private(tmp_path: Path):
    """ST-3: files that a download or a build brought into a store are no exception, nor is what lies beside it."""
    team = Team.create(tmp_path, (tmp_path / "remote").as_uri())
    team.publish()
    clone = team.clone()
    team.trust(clone)
    team.fetch(clone)
    for home in (team.ci.home, team.mate.home):
        for path, mode in modes(home).items():
            if "fetch" not in Path(path).parts[:-2]:  # below fetch/REPOSITORY, which nobody else may enter
                wanted = 0o700 if (home / path).is_dir() else 0o600
                assert mode == wanted, f"{path}: {mode:o}"


def test_shared_stores_leave_untracked_files_out(repo: GitRepo):
    """ST-3: one user's scratch file is not the group's."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    repo.write("scratch.py", "MINE = 1\n")
    codebase = open_codebase(repo.root, harness.load_environment(), shared=True)
    report = sync(codebase, SyncOptions(workers=1))
    assert report.counts["files"] == 1


def test_modes_are_never_mixed(repo: GitRepo):
    """ST-3: a store stays in the mode it was made in."""
    repo.commit("one", **{".gitindex.toml": "[index]\nuntracked = false\n", "a.py": "A = 1\n"})
    shared = open_codebase(repo.root, harness.load_environment(), shared=True)
    single = open_codebase(repo.root, harness.load_environment())
    assert shared.layout == single.layout
    sync(shared, SyncOptions(workers=1))
    repo.write("a.py", "A = 2\n")
    with pytest.raises(UsageError, match="shared mode"):
        sync(single, SyncOptions(workers=1))
    assert harness.cli("sync", "--path", str(repo.root)).code == 2


def test_the_capability_check(repo: GitRepo, tmp_path: Path):
    """ST-3: exclusive create, read back and rename are tried; nothing of it is left behind."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    codebase = open_codebase(repo.root, harness.load_environment(), shared=True)
    stores.create(codebase.layout, initial_store_state(codebase))
    capability.check_shareable(codebase.layout)
    assert [path.name for path in codebase.layout.locks.iterdir()] == ["readers.lock"]


def test_network_file_systems_are_refused(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """ST-3: a shared store needs a local file system; the message says which one it found."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    codebase = open_codebase(repo.root, harness.load_environment(), shared=True)
    stores.create(codebase.layout, initial_store_state(codebase))
    monkeypatch.setattr(capability, "filesystem_type", lambda _path: "nfs4")
    with pytest.raises(StoreNotShareable, match="nfs4"):
        capability.check_shareable(codebase.layout)


@pytest.fixture
def shared(repo: GitRepo, home: Path) -> GitRepo:
    """An indexed repository of a user who shares."""
    (home / ".gitindex").mkdir()
    (home / ".gitindex/config.toml").write_text("shared = true\n")
    (home / ".gitindex/config.toml").chmod(0o644)
    repo.commit("one", **{"a.py": "def alpha(): pass\n"})
    harness.index(repo.root)
    repo.commit("two", **{"a.py": "def beta(): pass\n"})
    return repo


@pytest.mark.parametrize("command", [("sync",), ("sync", "--full"), ("compact",), ("gc",), ("repair",)])
def test_every_process_checks_before_it_writes(
    shared: GitRepo, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
):
    """ST-3: a store that moved to a network since it was made is refused by name, and goes on to answer."""
    layout = harness.codebase(shared.root).layout
    if command in (("compact",), ("repair",)):
        harness.index(shared.root)
        victim = layout.facts(sorted(path.name for path in layout.segments.iterdir())[0])
        if command == ("repair",):
            victim.write_bytes(victim.read_bytes()[:-1])
    before = layout.active_pointer.read_bytes()
    capability._check_once.cache_clear()  # as in another process
    monkeypatch.setattr(capability, "filesystem_type", lambda _path: "nfs4")
    ran = harness.cli(*command, "--json", "--path", str(shared.root))
    assert ran.code == 1, ran.out
    error = ran.json["error"]
    assert error["code"] == "store_not_shareable"
    assert "nfs4" in error["message"]
    assert "GITINDEX_HOME" in error["hint"]
    assert layout.active_pointer.read_bytes() == before
    assert list(layout.staging.iterdir()) == []
    if command != ("repair",):
        assert harness.cli("search", "alpha", "--json", "--path", str(shared.root)).code == 0


def test_one_check_per_process(shared: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """ST-3: the first write pays for it, the others do not; a single-user store never does."""
    capability._check_once.cache_clear()
    checked: list[str] = []
    real = capability.check_shareable
    monkeypatch.setattr(
        capability, "check_shareable", lambda layout: (checked.append(layout.id), real(layout))
    )
    for number in range(3):
        shared.commit("more", **{"b.py": f"B = {number}\n"})
        harness.index(shared.root)
    assert len(checked) == 1


def test_a_link_to_another_file_system(tmp_path: Path):
    """ST-3: what counts is where the store really is."""
    (tmp_path / "link").symlink_to("/proc/self")
    assert capability.filesystem_type(tmp_path / "link") == "proc"


def test_the_file_system_below_a_path_is_known():
    """ST-3: the longest mount point above the path counts."""
    assert capability.filesystem_type(Path("/proc/self")) == "proc"
    assert capability.filesystem_type(Path("/")) != ""
