"""HK-2, HK-3: the shell part, in every shell that may run it and next to anybody's lines."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from gitindex.gitdir import folder, hookrequest
from gitindex.hooks import owner, shim
from gitindex.hooks.install import install, uninstall
from gitindex.hooks.worker import LEGACY_FILES
from tests.hooks.harness import Hooked, found, run, wait_for
from tests.support.gitrepo import GitRepo


@pytest.fixture
def counting(tmp_path: Path) -> Path:
    """A Python that writes down that it was started, then runs the recording worker."""
    script = tmp_path / "counting"
    script.write_text(
        f'#!/bin/sh\necho started >>"{tmp_path}/starts"\nexec "{sys.executable}" -P -m tests.hooks.recorder "$@"\n'
    )
    script.chmod(0o755)
    return script


@pytest.fixture
def held(counting: Path, repo: GitRepo, home: Path) -> Hooked:
    """A repository whose one worker is at work and told to stay there."""
    hooked = Hooked.install(repo, str(counting), home / ".gitindex")
    (hooked.home / "hold").touch()
    repo.commit("first", **{"a.py": "a = 1\n"})
    wait_for(lambda: hooked.steps())
    return hooked


def _starts(hooked: Hooked) -> int:
    return len((hooked.home.parent.parent / "starts").read_text().split())


def _let_go(hooked: Hooked) -> None:
    (hooked.home / "hold").unlink()
    assert hooked.settle()[-1]["head"] == hooked.head


def test_a_burst_starts_one_worker(held: Hooked) -> None:
    """HK-3: whoever leaves a note while a worker lives need not start another, and is served."""
    for number in range(5):
        held.repo.commit(f"{number}")
    assert hookrequest.has_new_request(held.git_dir)
    _let_go(held)
    assert len(held.runs()) == 2
    assert _starts(held) == 1 if os.path.isdir("/proc/self") else 6


@pytest.mark.parametrize("holder", ["dead", "stranger", "nonsense"])
def test_a_name_in_the_lock_is_not_believed_blindly(held: Hooked, holder: str) -> None:
    """HK-3: a killed worker leaves its number behind, and the system gives it to somebody else."""
    _let_go(held)
    names = {"dead": "999999999", "stranger": str(os.getpid()), "nonsense": "../../etc"}
    (hookrequest.request_folder(held.git_dir) / "worker.lock").write_text(names[holder] + "\n")
    held.repo.commit("second")
    assert held.settle()[-1]["head"] == held.head
    wait_for(lambda: (hookrequest.request_folder(held.git_dir) / "worker.lock").read_text() == "")


LINES = """
set -euC
job() { sleep 0.05; }
job & wait
cat >>"$1.out"; echo "$# $2" >>"$1.out"; exit 5
"""


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("theirs", ["before", "after"])
def test_nobody_is_disturbed(
    repo: GitRepo, recorder: str, home: Path, tmp_path: Path, shell: str, theirs: str
) -> None:
    """HK-2, HK-4: options, `wait`, arguments, stdin and exit code of lines around ours; git's view of the pipe."""
    repo.commit("first")
    hook = repo.root / ".git/hooks/post-rewrite"
    if theirs == "before":
        hook.write_text(f"#!/usr/bin/env -S {shell} -eu{LINES}")
        hook.chmod(0o755)
    hooked = Hooked.install(repo, recorder, home / ".gitindex", files=True)
    if theirs == "after":
        hook.write_text(hook.read_text().replace("#!/bin/sh", f"#!/usr/bin/env {shell}") + LINES)
    (hooked.home / "hold").touch()
    out = str(tmp_path / "x")
    script = 'printf "old new\\n" | .git/hooks/post-rewrite "$1" second'
    done = run("sh", "-c", script, "sh", out, cwd=repo.root, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")
    assert Path(out + ".out").read_text() == "old new\n2 second\n"
    assert hookrequest.has_request(hooked.git_dir)
    (hooked.home / "hold").unlink()
    assert hooked.settle()


@pytest.mark.parametrize("shell", [["sh"], ["bash"], ["bash", "--posix"]])
def test_run_directly(repo: GitRepo, recorder: str, home: Path, tmp_path: Path, shell: list[str]) -> None:
    """HK-1: as pre-commit runs it, by whatever `sh` is."""
    repo.commit("first")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gitindex").symlink_to(recorder)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    done = run(*shell, str(shim.find_shim()), cwd=repo.root, PATH=path, PRE_COMMIT="1")
    assert (done.stdout, done.stderr) == ("", "")
    (seen,) = Hooked(repo, home / ".gitindex").settle()
    assert (seen["commit_only"], seen["session"], seen["cwd"]) == (True, True, "/")


def test_only_the_last_of_a_burst_starts_anything(
    repo: GitRepo, counting: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HK-3: each hook overwrites the note of the one before; whose note it is, starts the worker."""
    monkeypatch.setenv("GITINDEX_PAUSE", "0.5")
    hooked = Hooked.install(repo, str(counting), home / ".gitindex")
    for number in range(5):
        repo.commit(f"{number}")
    assert [seen["head"] for seen in hooked.settle()] == [hooked.head]
    assert _starts(hooked) == 1


def test_a_note_that_a_sync_has_taken_starts_nothing(
    repo: GitRepo, counting: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HK-3: whoever took it serves it."""
    monkeypatch.setenv("GITINDEX_PAUSE", "0.1")
    hooked = Hooked.install(repo, str(counting), home / ".gitindex")
    repo.commit("x")
    hookrequest.take(hooked.git_dir)
    repo.commit("y")
    hooked.settle()
    assert _starts(hooked) == 1


def test_the_shim_is_executable_and_says_nothing_when_it_cannot_write(repo: GitRepo, recorder: str) -> None:
    """HK-2: exit 0 and silence, also where the note's place is taken."""
    assert stat.S_IMODE(shim.find_shim().stat().st_mode) & 0o111
    install(found(repo.root), python=recorder, files=True)
    hookrequest.write_request(repo.root / ".git", hookrequest.HookRequest(commit_only=False))
    hookrequest.withdraw(repo.root / ".git")
    (hookrequest.request_folder(repo.root / ".git") / "pending").mkdir()
    done = run(".git/hooks/post-commit", cwd=repo.root)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("shell", [["sh"], ["bash"]])
def test_the_hook_makes_the_folder_that_the_worker_believes(repo: GitRepo, shell: list[str]) -> None:
    """HK-6: one user, one private folder, the same for shell and Python, whatever the umask."""
    git_dir = repo.root / ".git"
    script = 'umask 0; exec "$@"'
    run("sh", "-c", script, "sh", *shell, str(shim.find_shim()), cwd=repo.root, PATH="/usr/bin:/bin")
    assert folder.is_private(hookrequest.request_folder(git_dir).lstat())
    assert hookrequest.has_new_request(git_dir)
    assert owner.find_obstacle(git_dir) is None
    hookrequest.withdraw(git_dir)
    run(*shell, str(shim.find_shim()), cwd=repo.root, PATH="/usr/bin:/bin")
    assert hookrequest.has_new_request(git_dir)
    assert [path.name for path in folder.common_folder_path(git_dir).iterdir()] == [str(os.geteuid())]


def test_a_note_of_an_older_hook_is_served(repo: GitRepo, recorder: str, home: Path) -> None:
    """HK-3: hooks of a release without folders per user wrote into the common folder; no wake-up is lost."""
    repo.commit("first")
    git_dir = found(repo.root).git_dir
    folder.common_folder_path(git_dir).mkdir()
    for name in ("pending", "worker.json", "worker.log", "worker.lock"):
        (folder.common_folder_path(git_dir) / name).write_text("")
    assert hookrequest.has_request(git_dir)
    run(recorder, "worker", "--path", str(repo.root), "--git-dir", str(git_dir), cwd=repo.root)
    (seen,) = Hooked(repo, home / ".gitindex").settle()
    assert seen["head"] == repo.git("rev-parse", "HEAD")
    assert not hookrequest.has_request(git_dir)


def test_an_older_worker_leaves_nothing_behind(repo: GitRepo) -> None:
    """HK-4: a worker, and `hooks uninstall`, remove the files of the older layout."""
    repo.commit("first")
    git_dir = found(repo.root).git_dir
    worker = ["-P", "-m", "gitindex.hooks", "worker", "--path", str(repo.root), "--git-dir", str(git_dir)]
    for remove in (
        lambda: run(sys.executable, *worker, cwd=repo.root),
        lambda: uninstall(found(repo.root)),
    ):
        folder.common_folder_path(git_dir).mkdir(exist_ok=True)
        for name in LEGACY_FILES:
            (folder.common_folder_path(git_dir) / name).write_text("")
        remove()
        assert not any((folder.common_folder_path(git_dir) / name).exists() for name in LEGACY_FILES)
    assert not folder.common_folder_path(git_dir).exists()
