"""`hooks.worker.main`: the body of the detached process (HK-3)."""

from __future__ import annotations

import pytest

from gitindex.hooks import background, worker
from tests.support.gitrepo import GitRepo


def test_the_detached_process_serves_its_worktree(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """HK-3: unobtrusive first, then the requests of the real git directory, whatever link led there."""
    order: list[object] = []
    monkeypatch.setattr(background, "detach_process", lambda: order.append("detached"))
    monkeypatch.setattr(worker, "serve_requests", lambda served: order.append(served.git_dir))
    link = repo.root.parent / "link"
    link.symlink_to(repo.root / ".git")
    worker.main(repo.root, link)
    assert order == ["detached", (repo.root / ".git").resolve()]
