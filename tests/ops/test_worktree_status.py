"""CS-3, CS-5, LE-2: git looks once per sync, and what it saw is acted upon only while nobody published since."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitindex.git import status
from gitindex.ops.syncing import sync_locked
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.ops.syncing.worktree_status import start_status
from gitindex.store import lease
from tests.support import harness
from tests.support.gitrepo import GitRepo

Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    repo.commit("one", **{"a.py": "def alpha(): pass\n", "b.py": "def beta(): pass\n"})
    harness.index(repo.root)
    repo.write("a.py", "def changed(): pass\n")
    return repo


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where git began to look."""
    begun: list[Path] = []
    begin = status.PendingStatus.__init__

    def counted(self: status.PendingStatus, repo: Any, **options: Any) -> None:
        begun.append(repo.root)
        begin(self, repo, **options)

    monkeypatch.setattr(status.PendingStatus, "__init__", counted)
    return begun


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Have something happen after the look and before the lease."""
    go_on = sync_locked.locked_sync

    def install(event: Callable[[], object]) -> None:
        def interrupted(*arguments: Any, **named: Any) -> Any:
            monkeypatch.setattr(sync_locked, "locked_sync", go_on)
            event()
            return go_on(*arguments, **named)

        monkeypatch.setattr(sync_locked, "locked_sync", interrupted)

    return install


def check_parity(repo: GitRepo, tmp_path: Path) -> None:
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")


def test_one_sync_is_one_look(indexed: GitRepo, looks: list[Path], tmp_path: Path):
    assert harness.index(indexed.root).changes["modify"] == 1
    assert len(looks) == 1
    assert harness.index(indexed.root).noop
    assert len(looks) == 2
    check_parity(indexed, tmp_path)


def test_a_look_that_was_overtaken_is_taken_again(
    indexed: GitRepo, looks: list[Path], meanwhile: Meanwhile, tmp_path: Path
):
    """LE-2: another writer saw more and published it; acting on the older look would undo that."""
    other: list[str] = []

    def publish() -> None:
        indexed.write("new.py", "def newer(): pass\n")
        other.append(harness.index(indexed.root).snapshot_id)
        indexed.write("b.py", "def last(): pass\n")

    meanwhile(publish)
    report = harness.index(indexed.root)
    assert len(looks) == 3
    assert report.parent_snapshot_id == other[0]
    assert (report.changes["modify"], report.changes["delete"]) == (1, 0)
    check_parity(indexed, tmp_path)


def test_what_another_writer_did_is_not_done_twice(indexed: GitRepo, meanwhile: Meanwhile):
    meanwhile(lambda: harness.index(indexed.root))
    assert harness.index(indexed.root).noop


def test_a_sync_that_waited_looks_again(indexed: GitRepo, looks: list[Path], meanwhile: Meanwhile):
    """The writer that was waited for published nothing, but the wait may have been long."""
    held, edited = threading.Event(), threading.Event()

    def keep() -> None:
        with lease.hold(harness.codebase(indexed.root).layout, "other"):
            held.set()
            edited.wait(10)

    def occupy() -> None:
        threading.Thread(target=keep).start()
        held.wait(10)
        indexed.write("b.py", "def late(): pass\n")
        threading.Timer(0.2, edited.set).start()

    meanwhile(occupy)
    assert harness.index(indexed.root).changes["modify"] == 2
    assert len(looks) == 2


def test_a_file_that_left_after_the_look_is_a_delete(indexed: GitRepo, meanwhile: Meanwhile, tmp_path: Path):
    """CS-3: bytes are read when they are written, whatever the look said."""
    meanwhile((indexed.root / "a.py").unlink)
    assert harness.index(indexed.root).changes["delete"] == 1
    check_parity(indexed, tmp_path)


def test_a_file_that_changed_again_is_indexed_as_read(indexed: GitRepo, meanwhile: Meanwhile, tmp_path: Path):
    meanwhile(lambda: indexed.write("a.py", "def again(): pass\n"))
    assert harness.index(indexed.root).changes["modify"] == 1
    check_parity(indexed, tmp_path)
    assert harness.index(indexed.root).noop


def test_a_commit_after_the_look_is_left_to_the_next_sync(
    indexed: GitRepo, meanwhile: Meanwhile, tmp_path: Path
):
    """CS-5: the snapshot names the commit that was looked at, so nothing is advanced past."""
    before = indexed.git("rev-parse", "HEAD")
    meanwhile(lambda: indexed.commit("two", **{"c.py": "def gamma(): pass\n"}))
    assert harness.index(indexed.root).commit == before
    assert harness.index(indexed.root).commit == indexed.git("rev-parse", "HEAD")
    check_parity(indexed, tmp_path)


def test_a_look_begun_before_a_publish_is_not_used(indexed: GitRepo, looks: list[Path], tmp_path: Path):
    """As `ops.present` has it: a look never speaks about a snapshot that is younger than itself."""
    codebase = harness.codebase(indexed.root)
    with start_status(codebase) as look:
        assert look is not None
        assert look.pending.full_status.dirty
        indexed.write("new.py", "def newer(): pass\n")
        harness.index(indexed.root)
        assert sync(codebase, SyncOptions(**harness.FEW), early_status=look).noop
    assert len(looks) == 3
    check_parity(indexed, tmp_path)


def test_a_look_begun_before_is_used(indexed: GitRepo, looks: list[Path]):
    codebase = harness.codebase(indexed.root)
    with start_status(codebase) as look:
        assert sync(codebase, SyncOptions(**harness.FEW), early_status=look).changes["modify"] == 1
    assert len(looks) == 1
