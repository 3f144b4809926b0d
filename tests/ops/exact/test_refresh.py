"""`ops.exact.refresh`: how a build refreshes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gitindex.git.repo import Head
from gitindex.ops.exact import refresh
from gitindex.ops.exact.refresh import RefreshOptions, refresh_for_build
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (None, RefreshOptions(wait=True, catch_up=False)),
        (
            RefreshOptions(contexts=("python",), allow_project_code=True),
            RefreshOptions(contexts=("python",), allow_project_code=True, wait=True, catch_up=False),
        ),
    ],
    ids=["defaults", "asked"],
)
def test_a_build_waits_and_never_catches_up(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, options: RefreshOptions | None, expected: RefreshOptions
):
    """SE-3: a build area has one commit, whatever happens to HEAD meanwhile."""
    ran: list[tuple[RefreshOptions, str]] = []

    def run(_: object, revision: Head, given: RefreshOptions, read: Callable[[], str], *rest: Any) -> None:
        ran.append((given, read()))

    monkeypatch.setattr(refresh, "_run_refresh", run)
    refresh_for_build(codebase(repo.root), Head("c" * 40, "t" * 40, None), options)
    assert ran == [(expected, "c" * 40)]
