"""HK-3: rapid commits and switches, with workers killed in the middle of anything."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

from gitindex.gitdir import hookrequest
from gitindex.hooks import journal
from tests.hooks.harness import Hooked, wait_for


def _storm(hooked: Hooked, dice: random.Random, rounds: int, deadly: float) -> set[int]:
    """Commit and switch `rounds` times as fast as git allows; the pids of workers killed on the way."""
    killed = set()
    for number in range(rounds):
        if dice.random() < 0.2:
            hooked.git("checkout", "-q", dice.choice(["main", "side"]))
        else:
            hooked.repo.write(f"f{number % 7}.py", f"value = {number}\n")
            hooked.git("add", "-A")
            hooked.git("commit", "-q", "-m", f"{number}")
        if dice.random() < deadly:
            killed |= _kill_worker(hooked)
    return killed


def _kill_worker(hooked: Hooked) -> set[int]:
    """Rest until a worker is there (a burst starts none), and kill it unless it was quicker."""
    wait_for(lambda: _running(hooked) or not hookrequest.has_request(hooked.git_dir))
    pid = _running(hooked)
    if pid is None:
        return set()
    os.kill(pid, signal.SIGKILL)
    return {pid}


def _running(hooked: Hooked) -> int | None:
    last = journal.read(hooked.git_dir)
    there = last is not None and last.result == journal.RUNNING and _is_worker(last.pid)
    return last.pid if last is not None and there else None


def _is_worker(pid: int) -> bool:
    try:
        return b"recorder" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _never_two_at_once(hooked: Hooked, killed: set[int]) -> None:
    inside: int | None = None
    for step in hooked.steps():
        if step["step"] == "begin":
            assert inside is None or inside in killed, f"{step['pid']} began while {inside} was at work"
            inside = step["pid"]
        else:
            assert step["pid"] == inside
            inside = None


def test_rapid_commits_are_few_runs(hooked: Hooked) -> None:
    """No worker is killed: the last hook alone brings the index to HEAD."""
    hooked.git("branch", "side")
    _storm(hooked, random.Random(1), 20, deadly=0.0)
    assert hooked.settle()[-1]["head"] == hooked.head
    _never_two_at_once(hooked, set())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_two_hundred_commits_with_workers_killed(hooked: Hooked, seed: int) -> None:
    """Whatever was killed, the next hook finds the note and the index ends at HEAD."""
    hooked.git("branch", "side")
    killed = _storm(hooked, random.Random(seed), 200, deadly=0.15)
    hold = (
        hooked.home / "hold"
    )  # workers of the storm may all be quicker than their killer; the last one waits for it
    hold.touch()
    hooked.git("commit", "-q", "--allow-empty", "-m", "held")
    killed |= _kill_worker(hooked)
    hold.unlink()
    assert killed
    hooked.git("commit", "-q", "--allow-empty", "-m", "last")
    assert hooked.settle()[-1]["head"] == hooked.head
    _never_two_at_once(hooked, killed)
    assert len(hooked.runs()) < 200
