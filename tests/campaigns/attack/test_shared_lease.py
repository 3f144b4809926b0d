"""LE-1, LE-3: writers that cannot see each other's processes, that were stopped, or whose lease file was lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from gitindex.errors import LeaseHeld, LeaseLost
from gitindex.store import lease, manifests, sealed_json, steps
from gitindex.store.layout import Layout
from tests.support import harness
from tests.support.gitrepo import GitRepo

ROOT = Path(__file__).parents[3]


@pytest.fixture
def layout(repo: GitRepo) -> Layout:
    repo.commit("first", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    return harness.codebase(repo.root).layout


def child(script: str, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    command = [*prefix, sys.executable, "-c", script, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def state_of(data: dict[str, Any]) -> lease.LeaseState:
    return lease.LeaseState(**{key: data[key] for key in data if key not in ("schema_version", "sha256")})


def write(layout: Layout, state: lease.LeaseState) -> None:
    """Put a lease file there, as another process would."""
    sealed_json.write(layout.lease, {"schema_version": 1, **asdict(state)})


HOLD = """
import sys, time
from pathlib import Path
from gitindex.store import lease
from gitindex.store.layout import Layout
with lease.hold(Layout(Path(sys.argv[1])), "elsewhere"):
    print("held", flush=True)
    time.sleep(60)
"""


UNSHARED = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c")
NUMBERED = 'echo "$1" >/proc/sys/kernel/ns_last_pid && shift && "$@"; exit "$?"'


def free_number() -> int:
    return next(pid for pid in range(20000, 32000) if not lease.is_alive(pid) and not lease.is_alive(pid + 1))


def test_a_writer_in_another_pid_namespace_keeps_its_lease(layout: Layout) -> None:
    """LE-1: its number means another process here, or none; the host name is the same."""
    number = str(free_number())
    tried = subprocess.run([*UNSHARED, NUMBERED, "sh", number, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip("this user cannot make pid namespaces")
    there = child(HOLD, str(layout.base), prefix=(*UNSHARED, NUMBERED, "sh", number))
    try:
        assert there.stdout is not None
        assert there.stdout.readline() == "held\n"
        held = lease.read(layout)
        assert held is not None
        assert not lease.is_alive(held.pid)
        with pytest.raises(LeaseHeld), lease.hold(layout, "thief"):
            pass
        assert lease.read(layout) == held
    finally:
        end(there)


@pytest.mark.parametrize("part", ["boot", "namespace"])
def test_a_dead_number_counts_only_where_numbers_mean_the_same(layout: Layout, part: str) -> None:
    """LE-1: after a restart, or in another container, only the ttl frees a lease; here a dead process does."""
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    with lease.hold(layout, "x"):
        here = lease.read(layout)
    assert here is not None
    here = replace(here, pid=int(dead.stdout), released=False)
    assert here.is_stale(time.time())
    if " " not in here.hostname:
        pytest.skip("this system has no pid namespaces")
    name, boot, namespace = here.hostname.split(" ")
    other = f"{name} {'0' * len(boot)} {namespace}" if part == "boot" else f"{name} {boot} pid:[1]"
    there = replace(here, hostname=other)
    assert not there.is_stale(time.time())
    assert there.is_stale(time.time() + lease.TTL_MS)
    assert there.host == name


def test_a_lease_of_an_older_release_is_read(layout: Layout) -> None:
    """ST-6: it names the bare host, so its number is not believed; its time is."""
    with lease.hold(layout, "x"):
        data = json.loads(layout.lease.read_bytes())
    old = replace(state_of(data), hostname=os.uname().nodename, pid=2**22 + 1, released=False)
    write(layout, old)
    assert lease.read(layout) == old
    with pytest.raises(LeaseHeld, match=os.uname().nodename), lease.hold(layout, "next"):
        pass
    with lease.hold(layout, "next", clock=lambda: time.time() + lease.TTL_MS) as mine:
        assert mine.epoch == old.lease_epoch + 1


# Stops in its first heartbeat: after it has read the lease, before it writes it back.
STOPPED = """
import os, signal, sys, time
from pathlib import Path
from gitindex.store import lease
from gitindex.store.layout import Layout
calls = []
def clock():
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(0.2)  # this thread runs on for a moment
    return time.time()
with lease.hold(Layout(Path(sys.argv[1])), "stopped", ttl_ms=600, clock=clock) as held:
    print("held", flush=True)
    while len(calls) < 4:
        time.sleep(0.01)
        try:
            held.check()
        except lease.LeaseLost:
            print("lost", flush=True)
            break
"""


def stopped(process: subprocess.Popen[str]) -> None:
    """Wait until it has stopped itself."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)


def test_a_heartbeat_that_was_stopped_does_not_undo_a_takeover(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LE-3: stopped for longer than guard and lease live, it must not write its old lease over the new one."""
    monkeypatch.setattr(lease, "GUARD_TTL", 0.2)
    sleeper = child(STOPPED, str(layout.base))
    try:
        stopped(sleeper)
        with lease.hold(layout, "next", wait=10) as mine:
            taken = lease.read(layout)
            os.kill(sleeper.pid, signal.SIGCONT)
            assert sleeper.communicate(timeout=60)[0] == "held\nlost\n"
            assert lease.read(layout) == taken
            mine.check()
    finally:
        end(sleeper)


SWAPPING = """
import os, signal, sys, time
from pathlib import Path
from gitindex.store import lease
from gitindex.store.layout import Layout
with lease.hold(Layout(Path(sys.argv[1])), "stopped", ttl_ms=300) as held:
    with held.fence():
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(0.2)
        held.check()
    print("ours", flush=True)
"""


def test_nobody_takes_the_lease_from_a_writer_in_its_swap(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LE-3: stopped between its last look and the rename; others wait, for a bounded time, and it is still right."""
    monkeypatch.setattr(lease, "GUARD_TTL", 0.2)
    monkeypatch.setattr(lease, "_flock_until", _impatient(lease._flock_until))
    sleeper = child(SWAPPING, str(layout.base))
    try:
        stopped(sleeper)
        time.sleep(0.5)
        with pytest.raises(LeaseHeld, match="stopped"), lease.hold(layout, "thief"):
            pass
        os.kill(sleeper.pid, signal.SIGCONT)
        assert sleeper.communicate(timeout=60)[0] == "ours\n"
    finally:
        end(sleeper)


def _impatient(real):
    return lambda descriptor, _deadline: real(descriptor, time.monotonic() + 0.5)


def test_the_epoch_grows_although_the_lease_file_is_lost(layout: Layout, repo: GitRepo) -> None:
    """LE-3: the next lease is above every one that published."""
    for number in range(3):
        repo.commit(f"{number}", **{"a.py": f"A = {number + 2}\n"})
        harness.index(repo.root)
    before = manifests.highest_epoch(layout, manifests.list_ids(layout))
    assert before > 2
    layout.lease.unlink()
    with lease.hold(layout, "after the loss") as held:
        assert held.epoch == before + 1


def steal_at(step: str, layout: Layout, repo: GitRepo, *, put_back: bool):
    """An observer that lets another writer take the lease and publish at `step`, once."""
    done: list[str] = []

    def observe(reached: str) -> None:
        if reached != step or done:
            return
        done.append(step)
        ours = layout.lease.read_bytes()
        data = json.loads(ours)
        write(layout, replace(state_of(data), released=True))
        repo.write("b.py", "B = 1\n")
        done.append(harness.index(repo.root).snapshot_id)
        if put_back:
            layout.lease.write_bytes(ours)

    return observe, done


@pytest.mark.parametrize("put_back", [False, True])
def test_the_swap_is_refused_after_a_later_writer(layout: Layout, repo: GitRepo, put_back: bool) -> None:
    """LE-3: taken over after the last look at the lease; and where the old lease file came back, by the epoch."""
    repo.commit("second", **{"a.py": "A = 2\n"})
    observe, done = steal_at("publish.swap", layout, repo, put_back=put_back)
    steps.observe(observe)
    try:
        with pytest.raises(LeaseLost):
            harness.index(repo.root)
    finally:
        steps.observe(None)
    assert manifests.read_active_id(layout) == done[1]
    assert harness.audited(repo.root).is_clean
