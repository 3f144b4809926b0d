"""A short life of the soak (`ci/soak`): random operations, every invariant after each (SN-6, SN-10, LE-2, HK-3)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gitindex.lifecycle import check
from gitindex.lifecycle.check import Problem
from tests.house.graph import REPOSITORY
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.mark.slow
def test_a_short_soak():
    """The seed is fixed, so a failure can be played again with the command that the output names."""
    command = [sys.executable, str(REPOSITORY / "ci" / "soak"), "--seed", "20261116", "--operations", "70"]
    done = subprocess.run(command, env={**os.environ}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed: 70 operations" in done.stdout


def test_a_publish_during_an_audit_is_no_damage(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """SN-6, found by the soak: the audited snapshot is pinned, and the pointer may move on meanwhile."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    real = check.inspect

    def overtaken(*arguments) -> list[Problem]:
        repo.commit("two", **{"a.py": "A = 2\n"})
        harness.index(repo.root)
        return real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(check, "inspect", overtaken)
        assert harness.audited(repo.root).problems == ()
    harness.codebase(repo.root).layout.active_pointer.write_text("01ARZ3NDEKTSV4RRFFQ69G5FAV\n")
    assert [problem.code for problem in harness.audited(repo.root).problems] == ["lost_pointer"]
