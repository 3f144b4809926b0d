"""HK-6: somebody who may write `.git/gitindex` plants links and folders there; the victim commits.

What an attacker makes is given to another user where the tests run as root; elsewhere it is the link that matters.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitindex.gitdir import hookrequest
from gitindex.hooks import journal
from tests.hooks.harness import Hooked, run, wait_for
from tests.support.gitrepo import GitRepo

NAMES = ("pending", "pending.commit", "kept", "kept.commit", "worker.lock", "worker.json", "worker.log")
PEER = 65534


@pytest.fixture
def hooked(repo: GitRepo, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hooked:
    """A repository whose hooks start the recording worker."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.setenv("GITINDEX_PAUSE", "0.01")
    script = tmp_path / "recorder"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m tests.hooks.recorder "$@"\n')
    script.chmod(0o755)
    repo.commit("first", **{"a.py": "a = 1\n"})
    return Hooked.install(repo, str(script), home / ".gitindex")


@pytest.fixture
def secrets(home: Path) -> dict[str, Path]:
    """A file of the victim for each name that hooks write."""
    found = {name: home / f"profile-{name}" for name in NAMES}
    for path in found.values():
        path.write_text("mine\n")
    return found


def shared_path(hooked: Hooked) -> Path:
    return hooked.repo.root / ".git/gitindex"


def shared_folder(hooked: Hooked) -> Path:
    """`.git/gitindex`, as a group shares it."""
    where = shared_path(hooked)
    where.mkdir()
    where.chmod(0o2775)
    return where


def give_away(path: Path) -> None:
    if os.geteuid() == 0:
        os.lchown(path, PEER, PEER)


def plant(where: Path, secrets: dict[str, Path]) -> None:
    for name, target in secrets.items():
        (where / name).symlink_to(target)
        give_away(where / name)


def untouched(secrets: dict[str, Path]) -> bool:
    return all(path.read_text() == "mine\n" for path in secrets.values())


def quiet(hooked: Hooked) -> bool:
    """Long enough after a commit for everything that the hook started to be over."""
    seen = subprocess.run(["ps", "-A", "-o", "args"], capture_output=True, text=True, check=True).stdout
    return str(hooked.repo.root) not in seen


def test_links_in_the_shared_folder(hooked: Hooked, secrets: dict[str, Path]) -> None:
    """HK-6: the note, the lock, the journal and the log go into a folder of the user's own."""
    plant(shared_folder(hooked), secrets)
    hooked.repo.commit("second")
    wait_for(lambda: hooked.runs() and quiet(hooked))
    assert untouched(secrets)
    assert hooked.runs()[-1]["head"] == hooked.head
    last = journal.read(hooked.git_dir)
    assert last is not None
    assert last.result == journal.DONE


def as_link(where: Path, private: Path) -> None:
    where.symlink_to(private)
    give_away(where)


def as_moved(where: Path, private: Path) -> None:
    """A folder of the victim that the group may write (those below `.git/objects` are), moved here."""
    private.rename(where)
    where.chmod(0o2775)


def as_own(where: Path, private: Path) -> None:
    private.rename(where)
    where.chmod(0o1777)
    give_away(where)


@pytest.mark.parametrize(
    "planted",
    [as_link, as_moved, pytest.param(as_own, marks=pytest.mark.skipif(os.geteuid() != 0, reason="root"))],
)
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_planted_folder(
    hooked: Hooked,
    secrets: dict[str, Path],
    home: Path,
    planted: Callable[[Path, Path], None],
    shell: str,
) -> None:
    """HK-6: a link to a folder of the victim, one of his that others may write, one of somebody else."""
    private = hooked.repo.root / "private"
    private.mkdir(mode=0o700)
    plant(private, secrets)
    planted(shared_folder(hooked) / str(os.geteuid()), private)
    hook = hooked.repo.root / ".git/hooks/post-commit"
    hook.write_text(hook.read_text().replace("#!/bin/sh", f"#!/usr/bin/env {shell}"))
    done = run(".git/hooks/post-commit", cwd=hooked.repo.root)
    assert (done.stdout, done.stderr) == ("", "")
    wait_for(lambda: quiet(hooked))
    assert untouched(secrets)
    assert not hooked.runs()
    told = run(sys.executable, "-P", "-m", "gitindex", "hooks", "status", cwd=hooked.repo.root).stdout
    assert "leave no requests there; remove it" in told


def test_notes_and_journals_of_others_are_not_believed(hooked: Hooked) -> None:
    """HK-6: neither a wish nor a failure report of somebody else, in the shared folder or in ours, counts."""
    if os.geteuid() != 0:
        pytest.skip("only root can make files of another user")
    hookrequest.write_request(hooked.git_dir, hookrequest.HookRequest(commit_only=False))
    hookrequest.withdraw(hooked.git_dir)
    for where in (hookrequest.request_folder(hooked.git_dir), shared_path(hooked)):
        for name in NAMES:
            text = '{"pid": 1, "started_at": "", "ended_at": null, "result": "failed", "error": "run this"}'
            (where / name).write_text(text)
            give_away(where / name)
    assert not hookrequest.has_request(hooked.git_dir)
    assert journal.read(hooked.git_dir) is None
    assert hookrequest.take(hooked.git_dir) is None
    assert (shared_path(hooked) / "pending").stat().st_uid == PEER, "not ours to move either"
