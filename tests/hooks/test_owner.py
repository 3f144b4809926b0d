"""HK-2: several users in one work tree. Git is never stopped, nothing ends in a traceback, status names the reason.

Root may write everything, so as root the commands run without that privilege; what belongs to another user is made by
taking away the right to write, and as root by giving it to another user as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitindex.gitdir import hookrequest
from gitindex.gitdir.folder import common_folder_path
from gitindex.hooks import journal
from tests.hooks.harness import Hooked, run, wait_for
from tests.support.gitrepo import GitRepo

_ROOT = os.geteuid() == 0
_DROPPED = "-dac_override,-dac_read_search"
_PLAIN = ["setpriv", f"--bounding-set={_DROPPED}", f"--inh-caps={_DROPPED}"] if _ROOT else []


@pytest.fixture
def shared(any_git: None, repo: GitRepo, home: Path) -> Hooked:
    repo.commit("first", **{"a.py": "a = 1\n"})
    return Hooked.install(repo, sys.executable, home / ".gitindex")


def plainly(hooked: Hooked, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return run(*_PLAIN, *command, cwd=hooked.repo.root, check=check)


def gitindex(hooked: Hooked, *arguments: str, check: bool = True) -> str:
    command = [sys.executable, "-P", "-m", "gitindex", *arguments]
    done = plainly(hooked, *command, check=check)
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr
    return done.stdout + done.stderr


def commit(hooked: Hooked) -> None:
    done = plainly(hooked, "git", "commit", "--allow-empty", "-q", "-m", "x")
    assert (done.stdout, done.stderr) == ("", "")


def give_away(path: Path, mode: int) -> None:
    path.chmod(mode)
    if _ROOT:
        os.chown(path, 1, 1)


@pytest.mark.parametrize("mode", [0o555, 0o500])
def test_notes_of_another_user(shared: Hooked, mode: int) -> None:
    """The folder may be readable or not."""
    folder = common_folder_path(shared.git_dir)
    folder.mkdir()
    give_away(folder, mode)
    try:
        commit(shared)
        assert list(folder.iterdir()) == []
        told = gitindex(shared, "hooks", "status")
        assert f"{folder} belongs to" in told
        assert "next: gitindex sync" in told
        assert "nothing to do" not in gitindex(shared, "sync")
        assert f"{folder} belongs to" in gitindex(shared, "status")
    finally:
        folder.chmod(0o755)


def test_leftovers_of_another_user(hooked: Hooked) -> None:
    """HK-6: the folder is ours, the files in it are not even readable: they are replaced."""
    hookrequest.write_request(hooked.git_dir, hookrequest.HookRequest(commit_only=False))
    hookrequest.withdraw(hooked.git_dir)
    folder = hookrequest.request_folder(hooked.git_dir)
    for name in ("kept", "worker.json", "worker.lock", "worker.log"):
        (folder / name).write_text("")
        give_away(folder / name, 0o400 if _ROOT else 0o000)
    commit(hooked)
    hooked.settle()
    last = journal.read(hooked.git_dir)
    assert last is not None
    assert (last.result, last.error) == (journal.DONE, None)
    assert "done" in (folder / "worker.log").read_text()


def test_an_index_of_another_user(shared: Hooked) -> None:
    gitindex(shared, "sync")
    store = next((shared.home / "data").iterdir())
    give_away(store, 0o500 if _ROOT else 0o000)
    try:
        commit(shared)
        wait_for(lambda: (last := journal.read(shared.git_dir)) is not None and last.result == journal.FAILED)
        last = journal.read(shared.git_dir)
        assert last is not None
        problem = "belongs to" if _ROOT else "cannot write the index"
        assert problem in (last.error or "")
        assert last.hint
        assert problem in gitindex(shared, "hooks", "status")
        assert ("belongs to" if _ROOT else "permission denied") in gitindex(shared, "sync", check=False)
    finally:
        store.chmod(0o755)
