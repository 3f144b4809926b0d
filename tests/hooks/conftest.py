"""Repositories with our hooks installed and a recording worker behind them, on every git at hand.

GITINDEX_TEST_GIT may name a folder with another `git` (2.54 or newer); tests then run on both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hooks.harness import Hooked
from tests.support.gitrepo import GitRepo

_OTHER_GIT = os.environ.get("GITINDEX_TEST_GIT")
_ROOT = Path(__file__).parents[2]


@pytest.fixture(
    params=[None, _OTHER_GIT] if _OTHER_GIT else [None], ids=lambda folder: "other" if folder else "git"
)
def any_git(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setenv("PATH", f"{request.param}:{os.environ['PATH']}")


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children import this checkout, and do not take their time."""
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    monkeypatch.setenv("GITINDEX_PAUSE", "0.01")


@pytest.fixture
def recorder(tmp_path: Path) -> str:
    """What hooks are told is Python: runs the worker loop with the recording indexer."""
    script = tmp_path / "recorder"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m tests.hooks.recorder "$@"\n')
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def hook(recorder: str, home: Path) -> Callable[[GitRepo], Hooked]:
    return lambda repo: Hooked.install(repo, recorder, home / ".gitindex")


@pytest.fixture
def hooked(any_git: None, hook: Callable[[GitRepo], Hooked], repo: GitRepo) -> Hooked:
    """One commit, then hooks."""
    repo.commit("first", **{"a.py": "a = 1\n"})
    return hook(repo)
