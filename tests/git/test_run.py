"""One door to git: a scrubbed environment, bounded patience, named failures (CS-4)."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from gitindex.errors import GitError, TransientGitError
from gitindex.git.environment import SETTINGS, environment
from gitindex.git.run import GitStream, PendingCommands, run
from tests.support.gitrepo import GitRepo

QUICK = (0.01, 0.01)


def test_no_variable_that_names_a_repository_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """CS-4: everything `git rev-parse --local-env-vars` lists, and whatever else starts with GIT_."""
    local = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True
    ).stdout.split()
    for name in (
        *local,
        "GIT_TRACE",
        "GIT_EXTERNAL_DIFF",
        "GIT_CONFIG_KEY_0",
        "GIT_DEFAULT_HASH",
        "GIT_PAGER",
    ):
        monkeypatch.setenv(name, "leak")
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -v")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "me")
    made = environment()
    assert "leak" not in made.values()
    assert made["GIT_SSH_COMMAND"] == "ssh -v"
    assert made["GIT_AUTHOR_NAME"] == "me"
    assert made["GIT_CONFIG_NOSYSTEM"] == "1"
    assert (made["GIT_OPTIONAL_LOCKS"], made["GIT_TERMINAL_PROMPT"], made["LC_ALL"]) == ("0", "0", "C")


def test_answers_about_the_repository_asked_for(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CS-4: inside a hook of one repository, git -C elsewhere must mean elsewhere."""
    repo.commit("here", a="1")
    other = GitRepo.create(tmp_path / "other")
    other.commit("there", b="2")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/elsewhere")
    assert run(repo.root, "log", "-1", "--format=%s") == b"here\n"


def test_configuration_of_the_caller_does_not_leak(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """CS-4: `git -c` of the command whose hook we run in."""
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'user.name=leak'")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "leak")
    assert run(repo.root, "config", "user.name", ok=(0, 1)) == b""
    assert run(repo.root, "config", "user.name", config={"user.name": "ours"}) == b"ours\n"


def test_no_program_of_the_repository_runs(repo: GitRepo) -> None:
    """Neither an fsmonitor hook nor an external diff: reading must not execute what a clone configured."""
    repo.commit("one", a="1")
    repo.write("a", "2")
    trap = repo.write("trap.sh", f"#!/bin/sh\ntouch {repo.root}/sprung\n")
    trap.chmod(0o755)
    repo.git("config", "core.fsmonitor", str(trap))
    repo.git("config", "diff.external", str(trap))
    run(repo.root, "status", "--porcelain")
    run(repo.root, "diff-tree", "-p", "--no-ext-diff", "--root", "HEAD")
    assert not (repo.root / "sprung").exists()


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_no_repository_overrules_what_git_is_told(repo: GitRepo, name: str) -> None:
    """CF-5: also for what no command of ours makes use of today."""
    repo.git("config", "--file", str(repo.root / ".git/config"), name, "/bin/trap")
    assert run(repo.root, "config", "--get", name) == f"{SETTINGS[name]}\n".encode()


def test_a_fetch_that_is_allowed_uses_the_user_s_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    """CF-5: core.sshCommand yields to GIT_SSH_COMMAND alone; transports that start programs stay shut."""
    offline, online = environment(), environment(lazy_fetch=True)
    assert (offline["GIT_NO_LAZY_FETCH"], offline["GIT_ALLOW_PROTOCOL"]) == ("1", "none")
    assert (online["GIT_SSH_COMMAND"], online["GIT_ALLOW_PROTOCOL"]) == ("ssh", "https:http:ssh")
    assert "GIT_NO_LAZY_FETCH" not in online
    monkeypatch.setenv("GIT_SSH", "/my tools/ssh")
    assert environment(lazy_fetch=True)["GIT_SSH_COMMAND"] == "'/my tools/ssh'"


def test_a_lock_that_goes_away_is_waited_out(repo: GitRepo) -> None:
    """CS-4: bounded back-off."""
    repo.write("a", "1")
    lock = repo.root / ".git/index.lock"
    lock.touch()
    release = threading.Timer(0.05, lock.unlink)
    release.start()
    run(repo.root, "add", "a", backoff=(0.05,) * 40)
    release.join()
    assert run(repo.root, "ls-files") == b"a\n"


def test_a_lock_that_stays_is_transient(repo: GitRepo) -> None:
    """CS-4: named, so that no caller takes it for a fact about the repository."""
    repo.write("a", "1")
    (repo.root / ".git/index.lock").touch()
    with pytest.raises(TransientGitError, match=r"index\.lock"):
        run(repo.root, "add", "a", backoff=QUICK)


def test_reading_needs_no_lock(repo: GitRepo) -> None:
    """CS-4: a foreground command holding index.lock does not stop a background status."""
    repo.commit("one", a="1")
    (repo.root / ".git/index.lock").touch()
    (repo.root / "a").write_text("2")
    assert run(repo.root, "status", "--porcelain", backoff=()) == b" M a\n"


def test_failures_carry_git_s_last_word(repo: GitRepo) -> None:
    with pytest.raises(GitError, match="fatal: Not a valid object name nope") as caught:
        run(repo.root, "cat-file", "-p", "nope")
    assert not isinstance(caught.value, TransientGitError)
    assert run(repo.root, "cat-file", "-e", "nope", ok=(0, 128)) == b""


def test_input_timeouts_and_pairs(repo: GitRepo) -> None:
    blob = run(repo.root, "hash-object", "-w", "--stdin", stdin=b"x" * 200_000).strip()
    assert len(run(repo.root, "cat-file", "blob", blob.decode())) == 200_000
    trap = {"alias.slow": "!exec sleep 5"}
    with pytest.raises(TransientGitError, match="did not finish"):
        run(repo.root, "slow", timeout=0.05, config=trap)
    with PendingCommands(repo.root, ["cat-file", "-t", blob.decode()], ["version"]) as both:
        assert both.result(1).startswith(b"git version")
        assert both.result(0) == b"blob\n"
    with (
        PendingCommands(repo.root, ["version"], ["cat-file", "-p", "nope"]) as both,
        pytest.raises(GitError, match="nope"),
    ):
        both.result(1)


def test_what_nobody_waits_for_is_gone(repo: GitRepo) -> None:
    """CS-4: a question that is not needed any more leaves no process behind, whatever it was doing."""
    repo.git("config", "alias.slow", "!exec sleep 60")
    with PendingCommands(repo.root, ["slow"], ["version"]) as pending:
        children = [child.pid for child in pending._children]
    for pid in children:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_without_git_there_is_a_next_step(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="not installed") as caught:
        run(repo.root, "version")
    assert caught.value.hint


def test_a_vanished_working_directory_does_not_matter(repo: GitRepo, tmp_path: Path) -> None:
    """A detached worker outlives the directory it was started in."""
    repo.commit("one", a="1")
    gone = tmp_path / "gone"
    gone.mkdir()
    was = os.getcwd()
    os.chdir(gone)
    try:
        gone.rmdir()
        assert run(repo.root, "log", "-1", "--format=%s") == b"one\n"
    finally:
        os.chdir(was)


def test_streams_answer_and_die_with_a_reason(repo: GitRepo, tmp_path: Path) -> None:
    commit = repo.commit("one", a="1")
    with GitStream(repo.root, "cat-file", "--batch-check=%(objectname)") as stream:
        stream.send(b"HEAD\nnope\n")
        assert [stream.read_line(), stream.read_line()] == [commit.encode(), b"nope missing"]
    with GitStream(tmp_path, "cat-file", "--batch") as stream:
        with pytest.raises(GitError, match="not a git repository"):
            stream.read_line()
        with pytest.raises(GitError):
            stream.send(b"HEAD\n")
        with pytest.raises(GitError):
            stream.read(10)
