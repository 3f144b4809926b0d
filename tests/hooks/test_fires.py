"""HK-3, HK-5: what fires after which git command, and that the index is at HEAD afterwards.

The commands that fire nothing (reset, stash, fetch, am) leave no note; the next hook catches up.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hooks.harness import Hooked, run
from tests.support.gitrepo import GitRepo


@pytest.fixture
def counted(hooked: Hooked) -> Hooked:
    """Two branches that can be merged or rebased, everything settled, counters at zero."""
    hooked.repo.commit("second", **{"b.py": "b = 1\n"})
    hooked.git("checkout", "-q", "-b", "side", "HEAD~1")
    for number in range(3):
        hooked.repo.commit(f"side {number}", **{f"side{number}.py": f"side = {number}\n"})
    hooked.git("checkout", "-q", "main")
    hooked.settle()
    hooked.forget()
    return hooked


def _caught_up(hooked: Hooked) -> None:
    assert hooked.settle()[-1]["head"] == hooked.head


def test_commit_and_no_verify(counted: Hooked) -> None:
    counted.repo.write("c.py", "c = 1\n")
    counted.git("add", "-A")
    counted.git("commit", "-q", "--no-verify", "-m", "third")
    _caught_up(counted)


def test_amend(counted: Hooked) -> None:
    counted.git("commit", "-q", "--amend", "-m", "again")
    _caught_up(counted)


def test_cherry_pick_and_revert(counted: Hooked) -> None:
    counted.git("cherry-pick", "side~2", "side~1", "side")
    _caught_up(counted)
    counted.git("revert", "--no-edit", "HEAD")
    _caught_up(counted)


def test_merge(counted: Hooked) -> None:
    counted.git("merge", "-q", "--no-edit", "side")
    _caught_up(counted)


def test_fast_forward(counted: Hooked) -> None:
    counted.git("checkout", "-q", "-b", "behind", "side~2")
    _caught_up(counted)
    counted.git("merge", "-q", "--ff-only", "side")
    _caught_up(counted)


def test_pull(counted: Hooked, tmp_path: Path, recorder: str) -> None:
    counted.git("clone", "-q", ".", str(tmp_path / "clone"))
    clone = Hooked.install(GitRepo(tmp_path / "clone"), recorder, counted.home)
    counted.repo.commit("for the clone")
    counted.settle()
    clone.git("pull", "-q")
    _caught_up(clone)


def test_merge_conflict_then_commit(counted: Hooked) -> None:
    """post-merge does not fire then; the worker that was waiting for the merge, or post-commit, does it."""
    counted.git("checkout", "-q", "-b", "other", "HEAD~1")
    counted.repo.commit("conflict", **{"b.py": "b = 2\n"})
    counted.git("merge", "-q", "main", check=False)
    counted.repo.write("b.py", "b = 3\n")
    counted.git("add", "-A")
    counted.git("commit", "-q", "--no-edit")
    _caught_up(counted)


def test_rebase_of_thirty_is_one_run(counted: Hooked) -> None:
    """HK-3: a 30-commit rebase publishes once."""
    counted.git("checkout", "-q", "-b", "long", "HEAD~1")
    for number in range(30):
        counted.repo.commit(f"long {number}", **{f"long{number}.py": f"long = {number}\n"})
    counted.settle()
    counted.forget()
    counted.git("rebase", "-q", "main")
    assert [seen["head"] for seen in counted.settle()] == [counted.head]


@pytest.mark.parametrize("backend", ["--apply", "--merge"])
def test_rebase_backends(counted: Hooked, backend: str) -> None:
    counted.git("checkout", "-q", "side")
    counted.git("rebase", "-q", backend, "main")
    _caught_up(counted)


def test_rebase_fast_forward(counted: Hooked) -> None:
    """post-checkout fires before the branch moves; the worker looks at HEAD later than that."""
    counted.git("checkout", "-q", "-b", "behind", "side~2")
    counted.git("rebase", "-q", "side")
    _caught_up(counted)


def test_rebase_aborted(counted: Hooked) -> None:
    counted.git("checkout", "-q", "-b", "other", "HEAD~1")
    counted.repo.commit("conflict", **{"b.py": "b = 2\n"})
    counted.settle()
    before = counted.head
    counted.git("rebase", "-q", "main", check=False)
    assert counted.head != before
    counted.git("rebase", "--abort")
    _caught_up(counted)
    assert counted.head == before


def test_switch_and_checkout_of_a_file(counted: Hooked) -> None:
    counted.git("switch", "-q", "side")
    _caught_up(counted)
    counted.forget()
    counted.repo.write("a.py", "a = 2\n")
    counted.git("checkout", "-q", "--", "a.py")
    assert counted.settle()


def test_bisect(counted: Hooked) -> None:
    counted.git("checkout", "-q", "side")
    counted.settle()
    counted.forget()
    counted.git("bisect", "start", "HEAD", "HEAD~3")
    counted.git("bisect", "good")
    counted.git("bisect", "reset")
    _caught_up(counted)


@pytest.mark.parametrize(
    "command",
    [
        ("reset", "-q", "--hard", "HEAD~1"),
        ("stash", "-q", "-u"),
        ("fetch", "-q", "."),
        ("update-ref", "refs/heads/main", "side"),
    ],
    ids=lambda command: command[0],
)
def test_silent_commands_are_caught_up_by_the_next_hook(counted: Hooked, command: tuple[str, ...]) -> None:
    """HK-5: nothing fires, and nothing is advanced past (CS-5)."""
    counted.repo.write("dirty.py", "dirty = 1\n")
    counted.git(*command)
    assert counted.settle() == []
    counted.git("commit", "-q", "--allow-empty", "-m", "any hook")
    _caught_up(counted)


def test_am_is_caught_up_by_the_next_hook(counted: Hooked) -> None:
    patch = counted.git("format-patch", "-1", "--stdout", "side")
    run("git", "am", "-q", str(counted.repo.write("../one.patch", patch + "\n")), cwd=counted.repo.root)
    assert counted.settle() == []
    counted.git("checkout", "-q", "-b", "next")
    _caught_up(counted)


def test_worktree_add(counted: Hooked, tmp_path: Path) -> None:
    """HK-1: a new worktree fires post-checkout in itself; its note and its worker are its own."""
    there = tmp_path / "linked"
    counted.git("worktree", "add", "-q", str(there), "side")
    seen = counted.settle(there)
    assert (seen[-1]["root"], seen[-1]["head"]) == (str(there), counted.git("rev-parse", "side"))
