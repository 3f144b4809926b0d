"""HK-2, CS-4: where commits come from, and that nobody who made one waits for us or is disturbed by us."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitindex.gitdir import folder, hookrequest
from gitindex.hooks import journal
from gitindex.hooks.worker import failed_run_message
from tests.hooks.harness import Hooked, run, wait_for
from tests.support.gitrepo import GitRepo


def test_the_worker_is_detached_scrubbed_and_polite(hooked: Hooked) -> None:
    """HK-2, CS-4: own session, nothing inherited, low priority, no variable of the command that fired it."""
    hooked.git("-c", "user.name=Somebody", "-c", "core.abbrev=9", "commit", "-q", "--allow-empty", "-m", "x")
    seen = hooked.settle()[-1]
    assert seen["head"] == hooked.head
    assert (seen["leaked"], seen["session"], seen["cwd"], seen["open"]) == ([], True, "/", [])
    assert seen["nice"] == min(19, os.nice(0) + 10)
    assert seen["share"] is None or seen["share"].endswith(f" nice {seen['nice'] // 2}\n")


def test_a_pipe_on_git_does_not_wait_for_the_worker(hooked: Hooked) -> None:
    """HK-2: git's output ends while the worker is still at work."""
    (hooked.home / "hold").touch()
    hooked.git("commit", "--allow-empty", "-m", "captured")  # returns at the end of file of both pipes
    wait_for(lambda: hooked.steps())
    assert hooked.runs() == []
    (hooked.home / "hold").unlink()
    assert hooked.settle()[-1]["head"] == hooked.head


def test_a_lock_held_through_a_descriptor_is_let_go(hooked: Hooked, tmp_path: Path) -> None:
    """HK-2: `exec 5>lock; flock 5; git commit` in a script: the lock ends with the script."""
    (hooked.home / "hold").touch()
    script = 'exec 5>"$1"; flock -x 5; exec 30>"$1.2"; flock -x 30; git commit -q --allow-empty -m locked'
    run("bash", "-c", script, "bash", str(tmp_path / "lock"), cwd=hooked.repo.root)
    wait_for(lambda: hooked.steps())
    for name in ("lock", "lock.2"):
        with open(tmp_path / name, "w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    (hooked.home / "hold").unlink()
    hooked.settle()


def test_skip(hooked: Hooked) -> None:
    """HK-4: GITINDEX_SKIP=1 leaves no note and starts nothing; 0 means what it says."""
    run("git", "commit", "-q", "--allow-empty", "-m", "x", cwd=hooked.repo.root, GITINDEX_SKIP="1")
    assert not hookrequest.request_folder(hooked.git_dir).exists()
    run("git", "commit", "-q", "--allow-empty", "-m", "x", cwd=hooked.repo.root, GITINDEX_SKIP="0")
    assert hooked.settle()[-1]["head"] == hooked.head


def test_from_a_subfolder_and_by_git_dir(hooked: Hooked) -> None:
    hooked.repo.write("deep/er/x.py", "x = 1\n")
    run("git", "add", ".", cwd=hooked.repo.root / "deep")
    run("git", "commit", "-q", "-m", "deep", cwd=hooked.repo.root / "deep" / "er")
    assert hooked.settle()[-1]["head"] == hooked.head
    where = [f"--git-dir={hooked.repo.root}/.git", f"--work-tree={hooked.repo.root}"]
    run("git", *where, "commit", "-q", "--allow-empty", "-m", "far", cwd=Path("/"))
    assert hooked.settle()[-1]["head"] == hooked.head


def test_linked_worktrees_have_their_own_notes(hooked: Hooked, tmp_path: Path) -> None:
    """HK-3: one worker per worktree."""
    there = GitRepo(tmp_path / "linked")
    hooked.git("worktree", "add", "-q", "-b", "linked", str(there.root))
    hooked.settle(there.root)
    hooked.forget()
    there.commit("there", **{"there.py": "there = 1\n"})
    seen = hooked.settle(there.root)
    assert [(one["root"], one["head"]) for one in seen] == [(str(there.root), there.git("rev-parse", "HEAD"))]
    assert not hookrequest.request_folder(hooked.git_dir).exists()


def test_submodules(any_git: None, repo: GitRepo, tmp_path: Path, hook: Callable[[GitRepo], Hooked]) -> None:
    library = GitRepo.create(tmp_path / "library")
    library.commit("library", **{"lib.py": "lib = 1\n"})
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.root), "vendor/lib")
    repo.commit("with a submodule")
    inside = hook(GitRepo(repo.root / "vendor" / "lib"))
    inside.repo.commit("inside", **{"lib.py": "lib = 2\n"})
    seen = inside.settle()[-1]
    assert (seen["root"], seen["head"]) == (str(inside.repo.root), inside.head)
    assert inside.git_dir == repo.root / ".git" / "modules" / "vendor" / "lib"


@pytest.mark.parametrize("name", ["with space", "new\nline", "quote'\"$x`y", "-dash", "ünï"])
def test_awkward_paths(any_git: None, tmp_path: Path, name: str, hook: Callable[[GitRepo], Hooked]) -> None:
    hooked = hook(GitRepo.create(tmp_path / name))
    hooked.repo.commit("x", **{"a.py": "a = 1\n"})
    seen = hooked.settle()[-1]
    assert (seen["root"], seen["head"]) == (str(tmp_path / name), hooked.head)
    hooked.git("worktree", "add", "-q", "-b", "b", str(tmp_path / f"{name} linked"))
    assert hooked.settle(tmp_path / f"{name} linked")[-1]["root"] == str(tmp_path / f"{name} linked")


def test_a_forgotten_index_lock(hooked: Hooked) -> None:
    """CS-4: a lock that another git left behind delays us, no more."""
    (hooked.home / "hold").touch()
    hooked.repo.commit("x")
    (hooked.git_dir / "index.lock").touch()
    (hooked.home / "hold").unlink()
    hookrequest.write_request(hooked.git_dir, hookrequest.HookRequest(commit_only=False))
    assert hooked.settle()[-1]["head"] == hooked.head


def test_a_failed_run_is_visible_and_the_next_hook_repairs_it(hooked: Hooked) -> None:
    (hooked.home / "fail").touch()
    hooked.repo.commit("x")
    wait_for(lambda: (last := journal.read(hooked.git_dir)) is not None and last.result == journal.FAILED)
    last = journal.read(hooked.git_dir)
    assert last is not None
    assert (last.error, last.hint) == ("told to fail", "gitindex sync")
    assert hookrequest.has_request(hooked.git_dir)
    assert "told to fail" in (hookrequest.request_folder(hooked.git_dir) / "worker.log").read_text()
    (hooked.home / "fail").unlink()
    hooked.repo.commit("y")
    assert hooked.settle()[-1]["head"] == hooked.head


def test_a_read_only_git_directory_does_not_stop_git(hooked: Hooked) -> None:
    """HK-2: exit 0 always; here the note cannot be left because its place is taken by a file."""
    folder.common_folder_path(hooked.git_dir).write_text("in the way")
    hooked.repo.commit("x")
    hooked.git("checkout", "-q", "-b", "y")
    assert hooked.runs() == []


def test_without_python_the_note_stays(any_git: None, repo: GitRepo, home: Path) -> None:
    """HK-5: an uninstalled gitindex costs nothing, and the note tells the next command."""
    hooked = Hooked.install(repo, str(home / "no such python"), home / ".gitindex")
    path = f"{Path(shutil.which('git') or '').parent}:/usr/bin:/bin"
    run("git", "commit", "-q", "--allow-empty", "-m", "x", cwd=repo.root, PATH=path)
    assert hookrequest.has_request(hooked.git_dir)


def test_a_module_of_the_repository_is_never_imported(hooked: Hooked) -> None:
    """CF-1: indexed content is untrusted; `gitindex/` in a work tree is not our package."""
    hooked.repo.write("gitindex/__init__.py", "raise SystemExit('imported')\n")
    hooked.repo.write("logging.py", "raise SystemExit('imported')\n")
    hooked.repo.commit("x")
    assert hooked.settle()[-1]["head"] == hooked.head


def test_a_work_tree_that_git_is_only_told_about(any_git: None, tmp_path: Path, home: Path) -> None:
    """HK-3: dotfiles kept with --git-dir and --work-tree: nothing there leads back to the repository; say so."""
    repo = GitRepo.create(tmp_path / "dotfiles")
    Hooked.install(repo, sys.executable, home / ".gitindex")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    where = [f"--git-dir={repo.root}/.git", f"--work-tree={elsewhere}"]
    run("git", *where, "commit", "-q", "--allow-empty", "-m", "far", cwd=elsewhere)
    git_dir = repo.root / ".git"
    wait_for(lambda: (last := journal.read(git_dir)) is not None and last.result == journal.FAILED)
    assert "is not the work tree" in (failed_run_message(git_dir) or "")
