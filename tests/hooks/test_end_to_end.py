"""HK-3, HK-5, SN-10: real hooks, the real worker, the real index; its digest equals that of a clean build."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from gitindex.config import load_environment
from gitindex.gitdir import hookrequest
from gitindex.hooks import journal
from gitindex.hooks.install import install
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.maintain.audit import audit
from gitindex.ops.syncing.sync import sync
from gitindex.store import manifests
from gitindex.view.snapshot import open_active
from tests.hooks.harness import Hooked, found, run, wait_for
from tests.support.gitrepo import GitRepo


def codebase(root: Path) -> Codebase:
    return open_codebase(root, load_environment(os.environ))


def indexed_commit(root: Path) -> str | None:
    with open_active(codebase(root).layout) as view:  # type: ignore[union-attr]
        return view.manifest.git.head_sha


def proven(hooked: Hooked) -> None:
    """The worker is done, the snapshot is HEAD's, and a clean build would have the same digest."""
    hooked.settle()
    last = journal.read(hooked.git_dir)
    assert last is not None
    assert (last.result, last.error) == (journal.DONE, None)
    assert indexed_commit(hooked.repo.root) == hooked.head
    assert audit(codebase(hooked.repo.root), rebuild=True).problems == ()


def publishes(hooked: Hooked) -> int:
    return len(manifests.list_ids(codebase(hooked.repo.root).layout))


@pytest.fixture
def indexed(any_git: None, repo: GitRepo, home: Path) -> Hooked:
    """Two branches, an index of the first commit, real hooks."""
    repo.commit("first", **{"a.py": "def one():\n    return 1\n", "notes.md": "# Notes\n\ntext\n"})
    sync(codebase(repo.root))
    install(found(repo.root), python=sys.executable)
    return Hooked(repo, home / ".gitindex")


def test_commit_switch_merge_rebase(indexed: Hooked) -> None:
    indexed.repo.commit("second", **{"b.py": "from a import one\n\ndef two():\n    return one() + 1\n"})
    proven(indexed)
    indexed.git("checkout", "-q", "-b", "side", "HEAD~1")
    indexed.repo.commit("side", **{"c.py": "def three():\n    return 3\n"})
    proven(indexed)
    indexed.git("rebase", "-q", "main")
    proven(indexed)
    indexed.git("checkout", "-q", "main")
    indexed.git("merge", "-q", "--no-ff", "--no-edit", "side")
    proven(indexed)


def test_silent_commands_are_caught_up(indexed: Hooked) -> None:
    """HK-5: by the next hook, or by a sync."""
    indexed.repo.commit("second", **{"b.py": "b = 1\n"})
    proven(indexed)
    indexed.git("reset", "-q", "--hard", "HEAD~1")
    assert indexed_commit(indexed.repo.root) != indexed.head
    sync(codebase(indexed.repo.root))
    proven(indexed)
    indexed.git("update-ref", "refs/heads/main", indexed.git("rev-parse", "HEAD@{1}"))
    indexed.git("commit", "-q", "--allow-empty", "-m", "any hook")
    proven(indexed)


def test_dirty_files_are_indexed_by_native_hooks_only(indexed: Hooked) -> None:
    """CS-3, HK-1: a note of pre-commit's asks for committed content."""
    indexed.repo.commit("second", **{"b.py": "b = 1\n"})
    indexed.settle()
    indexed.repo.write("a.py", "def changed():\n    return 2\n")
    indexed.git("commit", "-q", "--allow-empty", "-m", "native")
    indexed.settle()
    assert _indexed_blob(indexed, "a.py") == indexed.git("hash-object", "a.py")
    run("git", "commit", "-q", "--allow-empty", "-m", "pre-commit", cwd=indexed.repo.root, PRE_COMMIT="1")
    indexed.settle()
    assert _indexed_blob(indexed, "a.py") == indexed.git("rev-parse", "HEAD:a.py")
    assert (indexed.repo.root / "a.py").read_text().startswith("def changed")


def test_a_broken_configuration_is_visible_and_keeps_the_last_good_snapshot(indexed: Hooked) -> None:
    """CF-1: the worker fails by name; the next command can show it."""
    before = indexed_commit(indexed.repo.root)
    indexed.repo.commit("broken", **{".gitindex.toml": "[index]\nno_such_key = 1\n"})
    _wait_for_result(indexed, journal.FAILED)
    last = journal.read(indexed.git_dir)
    assert last is not None
    assert "no_such_key" in (last.error or "")
    assert hookrequest.has_request(indexed.git_dir)
    indexed.git("revert", "--no-edit", "HEAD")
    proven(indexed)
    assert before != indexed.head


def test_a_new_worktree_gets_its_own_index(indexed: Hooked, tmp_path: Path) -> None:
    there = tmp_path / "linked"
    indexed.git("worktree", "add", "-q", "-b", "linked", str(there))
    indexed.settle(there)
    assert indexed_commit(there) == indexed.head


def test_a_worker_behind_another_writer(indexed: Hooked) -> None:
    """LE-2: a foreground sync and a worker at once; both end at HEAD."""
    for number in range(5):
        indexed.repo.commit(f"{number}", **{"b.py": f"b = {number}\n"})
        sync(codebase(indexed.repo.root))
    proven(indexed)


@pytest.mark.slow
def test_rebase_of_thirty_publishes_once(indexed: Hooked) -> None:
    """HK-3."""
    indexed.repo.commit("upstream", **{"up.py": "up = 1\n"})
    indexed.git("checkout", "-q", "-b", "long", "HEAD~1")
    for number in range(30):
        indexed.repo.commit(f"long {number}", **{f"long{number}.py": f"def long{number}():\n    pass\n"})
    proven(indexed)
    before = publishes(indexed)
    indexed.git("rebase", "-q", "main")
    proven(indexed)
    assert publishes(indexed) == before + 1


@pytest.mark.slow
def test_two_hundred_commits_with_workers_killed(indexed: Hooked) -> None:
    """HK-3, LE-1: killed anywhere, also in the middle of a publish; the digest is right in the end."""
    dice, killed = random.Random(5), 0
    indexed.git("branch", "side")
    for number in range(200):
        if dice.random() < 0.2:
            indexed.git("checkout", "-q", dice.choice(["main", "side"]))
        else:
            indexed.repo.write(f"f{number % 9}.py", f"def f{number}():\n    return {number}\n")
            indexed.git("add", "-A")
            indexed.git("commit", "-q", "-m", f"{number}")
        if dice.random() < 0.1:
            killed += _kill(indexed, dice)
    assert killed > 5
    indexed.git("commit", "-q", "--allow-empty", "-m", "last")
    indexed.settle(seconds=120)
    proven(indexed)


def _kill(hooked: Hooked, dice: random.Random) -> int:
    """Rest until a worker is there (a burst starts none), and kill it some way into its work."""
    wait_for(lambda: _running(hooked) or not hookrequest.has_request(hooked.git_dir))
    for _ in range(dice.randrange(10)):
        time.sleep(0.05)
    last = _running(hooked)
    if last is None:
        return 0
    os.kill(last.pid, signal.SIGKILL)
    return 1


def _running(hooked: Hooked) -> journal.WorkerRun | None:
    last = journal.read(hooked.git_dir)
    return last if last is not None and last.result == journal.RUNNING and _is_worker(last.pid) else None


def _is_worker(pid: int) -> bool:
    try:
        return b"gitindex.hooks" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _indexed_blob(hooked: Hooked, path: str) -> str:
    with open_active(codebase(hooked.repo.root).layout) as view:  # type: ignore[union-attr]
        return view.record(path).blob


def _wait_for_result(hooked: Hooked, result: str) -> None:
    wait_for(lambda: (last := journal.read(hooked.git_dir)) is not None and last.result == result)
