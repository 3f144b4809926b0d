"""HK-1, HK-4: `gitindex hooks …` as people and hooks call it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gitindex.cli.main import group
from gitindex.errors import NotARepository
from gitindex.gitdir import hookrequest
from gitindex.hooks.events import EVENTS
from tests.hooks.harness import wait_for
from tests.support.gitrepo import GitRepo


def gitindex(*arguments: str, cwd: Path, check: bool = True) -> Result:
    """In this process: starting Python each time would be most of the test."""
    with contextlib.chdir(cwd):
        done = CliRunner().invoke(group, arguments)
    assert not check or done.exit_code == 0, done.output
    return done


def test_install_status_uninstall(any_git: None, repo: GitRepo) -> None:
    installed = json.loads(gitindex("hooks", "install", "--json", cwd=repo.root).stdout)
    assert [event["action"] for event in installed["events"]] == ["created"] * 4
    seen = json.loads(gitindex("hooks", "status", "--json", cwd=repo.root).stdout)
    assert (seen["effective"], seen["pending"], seen["last_run"]) == (True, False, None)
    assert [event["event"] for event in seen["events"]] == list(EVENTS)
    assert "dry run" in gitindex("hooks", "status", cwd=repo.root).stdout
    gitindex("hooks", "uninstall", cwd=repo.root)
    told = gitindex("hooks", "status", cwd=repo.root).stdout
    assert "next: gitindex hooks install" in told
    assert "nothing was installed" in gitindex("hooks", "uninstall", cwd=repo.root).stdout


def test_a_refusal_prints_what_to_add(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("config", "core.hooksPath", str(tmp_path))
    done = gitindex("hooks", "install", "--files", cwd=repo.root)
    assert "gitindex_event=post-commit" in done.stdout


def test_outside_a_repository(tmp_path: Path) -> None:
    done = gitindex("hooks", "install", cwd=tmp_path, check=False)
    assert isinstance(done.exception, NotARepository)
    assert done.exception.hint == "git init"


def test_a_commit_is_indexed_by_what_the_command_installed(any_git: None, repo: GitRepo) -> None:
    gitindex("hooks", "install", cwd=repo.root)
    head = repo.commit("first", **{"a.py": "a = 1\n"})
    wait_for(lambda: _status(repo)["last_run"] is not None and _status(repo)["last_run"]["result"] == "done")
    answer = json.loads(gitindex("status", "--json", cwd=repo.root).stdout)
    assert (answer["indexed_commit"], answer["in_sync"]) == (head, True)


@pytest.mark.parametrize("event", [*EVENTS, "something-new", None])
def test_run_never_fails(repo: GitRepo, event: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """HK-2: whatever git calls it with; here no worker is wanted."""
    arguments = [event] if event else []
    monkeypatch.setenv("GITINDEX_SKIP", "1")
    gitindex("hooks", "run", *arguments, "0000", "1111", "1", cwd=repo.root)
    assert not hookrequest.request_folder(repo.root / ".git").exists()


def test_run_leaves_a_note_and_starts_a_worker(repo: GitRepo) -> None:
    repo.commit("first", **{"a.py": "a = 1\n"})
    gitindex("hooks", "run", "post-commit", cwd=repo.root)
    wait_for(lambda: (_status(repo)["last_run"] or {}).get("result") == "done")


def test_a_killed_worker_is_told_of_until_it_is_made_good(repo: GitRepo) -> None:
    """HK-3: killed in the middle; `hooks status` and `status` say so, and a sync by hand ends it."""
    repo.commit("first", **{"a.py": "a = 1\n"})
    git_dir = repo.root / ".git"
    hookrequest.write_request(git_dir, hookrequest.HookRequest(commit_only=False))
    code = (
        "import os, sys; from pathlib import Path; from gitindex.hooks import worker\n"
        "worker.serve_requests(worker.Worker(Path(sys.argv[1]), lambda _: os.kill(os.getpid(), 9), lambda: None))"
    )
    subprocess.run([sys.executable, "-c", code, str(git_dir)], check=False)
    told = gitindex("hooks", "status", cwd=repo.root).stdout
    assert "was killed\nnext: gitindex sync" in told
    gitindex("sync", cwd=repo.root)
    assert "was killed\nmade good since" in gitindex("hooks", "status", cwd=repo.root).stdout
    assert "made good since" in gitindex("status", cwd=repo.root).stdout


def _status(repo: GitRepo) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(gitindex("hooks", "status", "--json", cwd=repo.root).stdout)
    return found
