"""Fixtures everybody shares: an isolated home and real git repositories.

The default store location is a trap: a test that forgets to isolate itself fails instead of touching it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from gitindex.config import limit_numpy_threads
from tests.support import models
from tests.support.gitrepo import GitRepo

limit_numpy_threads()
settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")
_KEEP = {"PATH", "PYTHONPATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ", "VIRTUAL_ENV"}
_KEEP_PREFIX = (
    "PIP_",
    "NPM_CONFIG_",
    "npm_config_",
    "SSL_",
    "NODE_EXTRA",
    "PYTEST_",
    "COV",
    "GITINDEX_TEST_",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need a real model say so, and why they are left out."""
    absent = models.missing()
    for item in items:
        if absent and item.get_closest_marker("models"):
            item.add_marker(
                pytest.mark.skip(reason=f"not installed (test-models extra): {', '.join(absent)}")
            )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Coverage, started by now, traces every new thread: of two that start at once Python 3.11 lets one die instead,
    its work undone."""
    threading.settrace(None)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of this test's own; no variable of the developer's leaks in."""
    for name in list(os.environ):
        if name not in _KEEP and not name.startswith(_KEEP_PREFIX):
            monkeypatch.delenv(name)
    where = tmp_path / "home"
    where.mkdir()
    monkeypatch.setenv("HOME", str(where))
    monkeypatch.setenv("GITINDEX_HOME", str(where / ".gitindex"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "A U Thor")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "author@example.com")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "C O Mitter")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "committer@example.com")
    return where


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """An empty real git repository."""
    return GitRepo.create(tmp_path / "repo")
