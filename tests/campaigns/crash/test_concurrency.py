"""LE-1, LE-2, SN-6, SN-9: many writers, readers and a collector on one store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitindex.errors import LeaseHeld, LeaseLost
from gitindex.indexing import write as writing
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.store import lease, manifests, steps
from tests.campaigns.crash.crashing import REPOSITORY
from tests.support import harness
from tests.support.gitrepo import GitRepo


def start(role: str, repo: GitRepo, home: Path, seconds: float) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "tests.campaigns.crash.racing",
        role,
        str(repo.root),
        str(home),
        str(seconds),
    ]
    search = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": search}
    return subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def race(repo: GitRepo, home: Path, seconds: float, writers: int, readers: int) -> dict[str, int]:
    roles = ["write"] * writers + ["read"] * readers + ["gc"]
    children = [start(role, repo, home, seconds) for role in roles]
    number = 0
    while any(child.poll() is None for child in children):
        number += 1
        body = f"def f{number}():\n    return {number}\n"
        repo.write(f"m{number % 7}.py", body)
        if number % 5 == 0:
            repo.git("add", "-A")
            repo.git("commit", "-q", "--allow-empty", "-m", str(number))
        if number % 11 == 0:
            (repo.root / f"m{number % 7}.py").unlink()
        time.sleep(0.05)
    total: dict[str, int] = {}
    for role, child in zip(roles, children, strict=True):
        out, err = child.communicate()
        assert child.returncode == 0, f"{role}: {err.decode()}"
        for name, count in json.loads(out).items():
            total[name] = total.get(name, 0) + count
    return total


def check_race(repo: GitRepo, tmp_path: Path, seconds: float, writers: int, readers: int) -> None:
    home = tmp_path / "index"
    repo.commit("first", **{"a.py": "def a(): pass\n"})
    harness.index(repo.root, home)
    total = race(repo, home, seconds, writers, readers)
    assert total.get("published", 0) > 1
    assert total.get("read", 0) > 1
    harness.index(repo.root, home)
    assert harness.audited(repo.root, home).problems == ()
    assert harness.digest_of(repo.root, home) == harness.clean_digest(repo.root, tmp_path / "scratch")


def test_a_short_race(repo: GitRepo, tmp_path: Path):
    check_race(repo, tmp_path, 4, 2, 1)


@pytest.mark.slow
def test_eight_writers_four_readers_one_collector(repo: GitRepo, tmp_path: Path):
    check_race(repo, tmp_path, 60, 8, 4)


def test_a_zombie_writer_publishes_nothing(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """LE-1: paused past its ttl, its lease stolen, it resumes and must not make anything visible."""
    home = tmp_path / "index"
    repo.commit("first", **{"a.py": "A = 1\n"})
    harness.index(repo.root, home)
    repo.commit("second", **{"a.py": "A = 2\n"})
    layout = harness.codebase(repo.root, home).layout
    stolen: list[str] = []

    def pause(step: str) -> None:
        if step == "publish.flush" and not stolen:
            stale = lease.read(layout)
            assert stale is not None
            stolen.append(stale.owner_id)
            later = time.time() + 1000
            with lease.hold(layout, "thief", clock=lambda: later):
                stolen.append("stolen")

    active = manifests.read_active_id(layout)
    steps.observe(pause)
    try:
        with pytest.raises(LeaseLost):
            harness.index(repo.root, home)
    finally:
        steps.observe(None)
    assert stolen[1:] == ["stolen"]
    assert manifests.read_active_id(layout) == active
    assert harness.index(repo.root, home).changes["modify"] == 1


def test_the_lease_is_refused_while_held_and_granted_after(repo: GitRepo, tmp_path: Path):
    """LE-1: the error names the holder; exit code 7 at the command line."""
    home = tmp_path / "index"
    repo.commit("first", **{"a.py": "A = 1\n"})
    harness.index(repo.root, home)
    layout = harness.codebase(repo.root, home).layout
    with (
        lease.hold(layout, "first") as held,
        pytest.raises(LeaseHeld) as caught,
        lease.hold(layout, "second"),
    ):
        pass
    assert str(os.getpid()) in caught.value.message
    assert caught.value.exit_code == 7
    with lease.hold(layout, "third") as next_one:
        assert next_one.epoch > held.epoch


def test_a_lease_of_a_dead_process_is_free(repo: GitRepo, tmp_path: Path):
    """LE-1: after a kill -9 nobody waits for the ttl on the same host."""
    home = tmp_path / "index"
    repo.commit("first", **{"a.py": "A = 1\n"})
    harness.index(repo.root, home)
    layout = harness.codebase(repo.root, home).layout
    script = (
        "import os, sys; from pathlib import Path; from gitindex.store import lease; "
        "from gitindex.store.layout import Layout\n"
        "with lease.hold(Layout(Path(sys.argv[1])), 'x'): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(layout.base)], cwd=REPOSITORY, check=False)
    held = lease.read(layout)
    assert held is not None
    assert not held.released
    with lease.hold(layout, "next") as mine:
        assert mine.epoch == held.lease_epoch + 1


def test_a_stale_guard_is_broken(repo: GitRepo, tmp_path: Path):
    """LE-1: the guard has a short life; a crash inside it blocks nobody for long."""
    home = tmp_path / "index"
    repo.commit("first", **{"a.py": "A = 1\n"})
    harness.index(repo.root, home)
    layout = harness.codebase(repo.root, home).layout
    layout.lease_guard.touch()
    old = time.time() - 60
    os.utime(layout.lease_guard, (old, old))
    with lease.hold(layout, "next"):
        assert not layout.lease_guard.exists()


def test_losers_work_is_not_lost(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """LE-2: a change made while another writer publishes is in the next snapshot."""
    home = tmp_path / "index"
    repo.commit("first", **{"a.py": "A = 1\n"})
    harness.index(repo.root, home)
    repo.write("b.py", "B = 1\n")
    real = writing.write

    def slow(*arguments: object) -> object:
        repo.write("c.py", "C = 1\n")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("gitindex.ops.syncing.sync_locked.write", slow)
    sync(harness.codebase(repo.root, home), SyncOptions(workers=1))
    report = harness.index(repo.root, home)
    assert report.noop is False
    assert harness.digest_of(repo.root, home) == harness.clean_digest(repo.root, tmp_path / "scratch")
