"""HK-3: the worker's loop, driven step by step with a clock of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitindex.errors import GitError, LeaseHeld
from gitindex.gitdir import hookrequest
from gitindex.gitdir.hookrequest import HookRequest
from gitindex.hooks import journal, worker_lock
from gitindex.hooks.worker import (
    INDEX_LOCK,
    Worker,
    WorkerTimings,
    failed_run_message,
    last_run,
    serve_requests,
)


class Script:
    """An indexer and a git that do as they are told, and a clock that only counts."""

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir
        self.calls: list[bool] = []
        self.naps: list[float] = []
        self.busy_for: dict[str, int] = {}
        self.during: list[Callable[[], None]] = []

    def index(self, commit_only: bool) -> str:
        self.calls.append(commit_only)
        assert not hookrequest.has_new_request(self.git_dir), "the note must be put aside before HEAD is read"
        if self.during:
            self.during.pop(0)()
        return f"run {len(self.calls)}"

    def busy(self) -> str | None:
        for reason, looks in self.busy_for.items():
            if looks > 0:
                self.busy_for[reason] -= 1
                return reason
        return None

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        for name in ("pending", "pending.commit"):  # time passes for the note as well
            path = hookrequest.request_folder(self.git_dir) / name
            if path.exists():
                os.utime(path, (0, path.stat().st_mtime - seconds))

    def work(self, **pace: float) -> None:
        serve_requests(Worker(self.git_dir, self.index, self.busy, WorkerTimings(**pace), self.sleep))


@pytest.fixture
def script(tmp_path: Path) -> Script:
    git_dir = tmp_path / ".git"
    git_dir.mkdir()
    hookrequest.write_request(git_dir, HookRequest(commit_only=False))
    return Script(git_dir)


def _raise(error: Exception) -> Callable[[], None]:
    def now() -> None:
        raise error

    return now


def test_one_note_is_one_run(script: Script) -> None:
    script.work()
    assert script.calls == [False]
    assert not hookrequest.has_request(script.git_dir)
    run = last_run(script.git_dir)
    assert run is not None
    assert (run.result, run.detail, run.error) == (journal.DONE, "run 1", None)


def test_no_note_is_no_run(script: Script) -> None:
    hookrequest.take(script.git_dir)
    script.work()
    assert script.calls == []
    assert last_run(script.git_dir) is None


def test_a_note_left_while_indexing_is_served_too(script: Script) -> None:
    """HK-3: no wake-up is lost; the hook that left it found the lock taken and went away."""
    script.during = [lambda: hookrequest.write_request(script.git_dir, HookRequest(commit_only=False))]
    script.work()
    assert script.calls == [False, False]


def test_a_second_worker_leaves_at_once(script: Script) -> None:
    with worker_lock.try_worker_lock(script.git_dir) as alone:
        assert alone
        script.work()
    assert script.calls == []
    assert hookrequest.has_request(script.git_dir)


def test_the_lock_survives_the_removal_of_its_file(script: Script) -> None:
    """HK-3: two workers never hold "the" lock on two files of the same name."""
    with worker_lock.try_worker_lock(script.git_dir) as first:
        (hookrequest.request_folder(script.git_dir) / "worker.lock").unlink()
        with worker_lock.try_worker_lock(script.git_dir) as second:
            assert (first, second) == (True, True)
    with worker_lock.try_worker_lock(script.git_dir) as third:
        assert third


def test_waits_for_a_rebase_to_end(script: Script) -> None:
    script.busy_for = {"rebase-merge": 50}
    script.work()
    assert script.calls == [False]
    assert len(script.naps) > 10


def test_a_rebase_that_does_not_end_keeps_the_note(script: Script) -> None:
    """HK-3: waiting is capped; the end of the rebase fires a hook of its own."""
    script.busy_for = {"rebase-merge": 10**9}
    script.work(git_busy=30)
    assert script.calls == []
    assert hookrequest.has_request(script.git_dir)
    run = last_run(script.git_dir)
    assert run is not None
    assert (run.result, run.detail) == (journal.DEFERRED, "git is busy: rebase-merge")
    assert sum(script.naps) < 40


def test_a_forgotten_index_lock_does_not_stop_us(script: Script) -> None:
    script.busy_for = {INDEX_LOCK: 10**9}
    script.work()
    assert script.calls == [False]


def test_another_writer_is_waited_for(script: Script) -> None:
    """LE-2: the loser's work is redone, not lost."""
    script.during = [_raise(LeaseHeld("busy")) for _ in range(4)]
    script.work()
    assert script.calls == [False] * 5
    assert last_run(script.git_dir).result == journal.DONE  # type: ignore[union-attr]


def test_a_writer_that_stays_leaves_the_note(script: Script) -> None:
    script.during = [_raise(LeaseHeld("held by another", hint="gitindex status")) for _ in range(100)]
    script.work(writer_busy=5)
    assert hookrequest.has_request(script.git_dir)
    run = last_run(script.git_dir)
    assert run is not None
    assert (run.result, run.hint) == (journal.DEFERRED, "gitindex status")


def test_a_failure_is_written_down_and_keeps_the_note(script: Script) -> None:
    script.during = [_raise(GitError("it broke", hint="git fsck"))]
    script.work()
    assert script.calls == [False], "the same note is not tried again and again"
    assert hookrequest.has_request(script.git_dir)
    run = last_run(script.git_dir)
    assert run is not None
    assert (run.result, run.error, run.hint) == (journal.FAILED, "it broke", "git fsck")
    assert "it broke" in (failed_run_message(script.git_dir) or "")
    with hookrequest.serve_request(script.git_dir):
        pass
    assert failed_run_message(script.git_dir) is None, "a foreground sync served the note: made good"


def test_a_hook_after_a_failure_is_a_new_chance(script: Script) -> None:
    def fail_while_somebody_commits() -> None:
        hookrequest.write_request(script.git_dir, HookRequest(commit_only=False))
        raise GitError("it broke")

    script.during = [fail_while_somebody_commits]
    script.work()
    assert script.calls == [False, False]
    assert not hookrequest.has_request(script.git_dir)


def test_a_crash_is_written_down_too(script: Script) -> None:
    script.during = [_raise(ZeroDivisionError("a bug"))]
    with pytest.raises(ZeroDivisionError):
        script.work()
    run = last_run(script.git_dir)
    assert run is not None
    assert (run.result, run.error) == (journal.FAILED, "ZeroDivisionError: a bug")
    assert hookrequest.has_request(script.git_dir)


def test_a_worker_that_was_killed_reads_as_died(script: Script) -> None:
    code = "import sys; from pathlib import Path; from gitindex.hooks import journal; journal.begin(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(script.git_dir)], check=True)
    run = last_run(script.git_dir)
    assert run is not None
    assert run.result == journal.DIED


def test_a_burst_is_waited_out_but_not_for_ever(script: Script) -> None:
    real = script.sleep

    def somebody_commits_all_the_time(seconds: float) -> None:
        real(seconds)
        hookrequest.write_request(script.git_dir, HookRequest(commit_only=False))

    script.sleep = somebody_commits_all_the_time  # type: ignore[method-assign]
    script.work(quiet=0.3, burst=3.0)
    assert script.calls == [False]
    assert sum(script.naps) >= 2.9


@pytest.mark.parametrize(
    ("notes", "commit_only"), [([True], True), ([True, False], False), ([False], False), ([True, True], True)]
)
def test_the_strongest_wish_wins(script: Script, notes: list[bool], commit_only: bool) -> None:
    """HK-1: a native hook asks for everything, pre-commit for committed content."""
    hookrequest.withdraw(script.git_dir)
    for wish in notes:
        hookrequest.write_request(script.git_dir, HookRequest(commit_only=wish))
    script.work()
    assert script.calls == [commit_only]


def test_uninstalled_under_a_running_worker(script: Script) -> None:
    """HK-4: nothing of ours comes back after `hooks uninstall`."""
    folder = hookrequest.request_folder(script.git_dir)

    def vanish() -> None:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        raise GitError("it broke")

    script.during = [vanish]
    script.work()
    assert not folder.exists()


def test_a_foreground_sync_takes_the_note_and_keeps_it_on_failure(script: Script) -> None:
    with hookrequest.serve_request(script.git_dir) as asked:
        assert asked == HookRequest(commit_only=False)
        assert not hookrequest.has_new_request(script.git_dir)
        assert hookrequest.has_request(script.git_dir), "killed here, the wish is still on disk"
    assert not hookrequest.has_request(script.git_dir)
    hookrequest.write_request(script.git_dir, HookRequest(commit_only=True))
    with pytest.raises(GitError), hookrequest.serve_request(script.git_dir):
        raise GitError("it broke")
    assert hookrequest.take(script.git_dir) == HookRequest(commit_only=True)


def test_a_note_that_another_took_meanwhile_is_theirs(script: Script) -> None:
    """HK-3: a worker and a foreground sync at once; what the second was asked for outlives the first."""
    first = hookrequest.take(script.git_dir)
    assert first is not None
    hookrequest.write_request(script.git_dir, HookRequest(commit_only=False))
    second = hookrequest.take(script.git_dir)
    assert second is not None
    hookrequest.remove_served(script.git_dir, first)
    assert hookrequest.has_request(script.git_dir)
    hookrequest.remove_served(script.git_dir, second)
    assert not hookrequest.has_request(script.git_dir)


def test_a_hook_between_failure_and_unlock_is_a_new_chance(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HK-3: whoever finds the lock taken goes away, so its holder must look after letting go."""
    end = journal.end

    def end_while_somebody_commits(*arguments: Any, **named: Any) -> None:
        end(*arguments, **named)
        if len(script.calls) == 1:
            hookrequest.write_request(script.git_dir, HookRequest(commit_only=False))

    monkeypatch.setattr(journal, "end", end_while_somebody_commits)
    script.during = [_raise(GitError("it broke"))]
    script.work()
    assert script.calls == [False, False]
    assert not hookrequest.has_request(script.git_dir)


def test_giving_up_on_git_does_not_swallow_a_hook(script: Script) -> None:
    """HK-3: the last hook of a rebase fires before git calls it ended, perhaps at the moment we give up."""
    script.busy_for = {"rebase-merge": 10**9}
    real = script.busy

    def the_rebase_ends_as_we_give_up() -> str | None:
        if sum(script.naps) > 30 and script.busy_for:
            script.busy_for = {}
            hookrequest.write_request(script.git_dir, HookRequest(commit_only=False))
            return "rebase-merge"
        return real()

    script.busy = the_rebase_ends_as_we_give_up  # type: ignore[method-assign]
    script.work(git_busy=30)
    assert script.calls == [False]
    assert not hookrequest.has_request(script.git_dir)


def test_a_killed_worker_keeps_its_note_and_is_visible(script: Script) -> None:
    """HK-3: killed while indexing, when the note is no longer fresh; never silent."""
    code = (
        "import os, sys; from pathlib import Path; from gitindex.hooks import worker\n"
        "worker.serve_requests(worker.Worker(Path(sys.argv[1]), lambda _: os.kill(os.getpid(), 9), lambda: None))"
    )
    subprocess.run([sys.executable, "-c", code, str(script.git_dir)], check=False)
    assert "died" in (failed_run_message(script.git_dir) or "")
    hookrequest.write_request(script.git_dir, HookRequest(commit_only=True))
    script.work()
    assert script.calls == [False], "the stronger wish of the killed one is not forgotten"
    assert failed_run_message(script.git_dir) is None


def test_the_lock_names_its_holder(script: Script) -> None:
    """HK-3: hooks start no second worker while the first is named there; gone before the last look."""
    lock = hookrequest.request_folder(script.git_dir) / "worker.lock"
    script.during = [lambda: script.calls.append(int(lock.read_text()) == os.getpid())]
    script.work()
    assert script.calls == [False, True]
    assert lock.read_text() == ""


def test_an_unreadable_journal_is_no_journal(script: Script) -> None:
    (hookrequest.request_folder(script.git_dir) / "worker.json").write_text(
        '{"pid": 1, "from": "another version"}'
    )
    assert last_run(script.git_dir) is None
