"""A repository with hooks, and what its workers wrote down."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitindex.git.repo import Repo, discover
from gitindex.gitdir import hookrequest
from gitindex.hooks import journal
from gitindex.hooks.install import install
from tests.support.gitrepo import GitRepo


def found(root: Path) -> Repo:
    repo = discover(root)
    assert repo is not None
    return repo


def run(*command: str, cwd: Path, check: bool = True, **environ: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done


@dataclass(frozen=True)
class Hooked:
    repo: GitRepo
    home: Path

    @classmethod
    def install(cls, repo: GitRepo, python: str, home: Path, *, files: bool = False) -> Hooked:
        report = install(found(repo.root), python=python, files=files)
        assert not report.refused_outcomes
        home.mkdir(exist_ok=True)
        return cls(repo, home)

    def git(self, *arguments: str, check: bool = True) -> str:
        return self.repo.git(*arguments, check=check)

    @property
    def git_dir(self) -> Path:
        return found(self.repo.root).git_dir

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def steps(self) -> list[dict[str, Any]]:
        path = self.home / "runs.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def runs(self) -> list[dict[str, Any]]:
        return [step for step in self.steps() if step["step"] == "end"]

    def forget(self) -> None:
        (self.home / "runs.jsonl").unlink(missing_ok=True)

    def settle(self, at: Path | None = None, seconds: float = 120.0) -> list[dict[str, Any]]:
        """Wait until no note is left and no worker runs; what the workers saw."""
        git_dir = found(at).git_dir if at else self.git_dir
        wait_for(lambda: not hookrequest.has_request(git_dir) and _finished(git_dir), seconds)
        return self.runs()


def _finished(git_dir: Path) -> bool:
    last = journal.read(git_dir)
    return last is None or last.result != journal.RUNNING


def wait_for(condition: Any, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "never happened"
        time.sleep(0.02)
