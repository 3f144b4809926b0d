"""CF-5: filters that a repository's own git configuration names are never run, and nothing goes wrong without them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gitindex.git.repo import discover
from gitindex.git.status import list_dirty
from tests.campaigns.attack.canary import Canary, Watched
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def filtered(repo: GitRepo) -> GitRepo:
    repo.commit("one", **{"a.py": "def a(): pass\n", ".gitattributes": "*.py filter=x.y\n"})
    return repo


def touch(repo: GitRepo) -> None:
    """Another stat, the same bytes: git must read the file to know."""
    os.utime(repo.root / "a.py", (1, 1))


CONFIGURED = ["clean", "process", "required", "included", "included if", "worktree"]


@pytest.mark.parametrize("way", CONFIGURED)
def test_no_driver_of_the_repository_runs(
    filtered: GitRepo, canary: Canary, tmp_path: Path, way: str
) -> None:
    """CF-5: however its configuration comes to name one."""
    text = f'[filter "x.y"]\n\tclean = {canary.program}\n'
    own = filtered.root / ".git/config"
    if way == "process":
        text = f'[FILTER "x.y"]\n\tprocess = {canary.program}\n'
    if way == "required":
        text += "\trequired = true\n"
    if way.startswith("included"):
        (tmp_path / "more").write_text(text)
        section = "[include]" if way == "included" else f'[includeIf "gitdir:{filtered.root}/"]'
        text = f"{section}\n\tpath = {tmp_path / 'more'}\n"
    if way == "worktree":
        filtered.git("config", "extensions.worktreeConfig", "true")
        own = filtered.root / ".git/config.worktree"
    own.write_text((own.read_text() if own.exists() else "") + text)
    touch(filtered)
    canary.proven(["git", "--no-optional-locks", "status"], filtered.root)
    for command in (["sync"], ["status"], ["search", "def"], ["sync"]):
        ran = harness.cli(*command, "--path", str(filtered.root))
        assert ran.code == 0, ran.err
    assert not canary.started


def test_a_touched_file_is_neither_wrong_nor_dirty_for_ever(filtered: GitRepo, canary: Canary) -> None:
    """CS-3: without its filter a touched file is what it is on disk, once; the next sync has nothing to do."""
    filtered.git("config", "filter.x.y.clean", "tr a-z A-Z")
    filtered.git("config", "filter.x.y.required", "true")
    filtered.commit("upper", **{"a.py": "def a(): pass\n# more\n"})
    assert filtered.git("show", "HEAD:a.py").startswith("DEF A")
    time.sleep(1.1)  # a file changed within git's clock tick is compared by its bytes
    filtered.git("status")
    harness.index(filtered.root)
    touch(filtered)
    changed = harness.index(filtered.root)
    assert not changed.noop
    time.sleep(1.1)
    harness.index(filtered.root)
    assert harness.index(filtered.root).noop
    with harness.view(filtered.root) as view:
        assert view.record("a.py") is not None
    filtered.git("status")  # git looks itself, with the filter, and remembers the stat
    repo = discover(filtered.root)
    assert repo is not None
    assert list_dirty(repo) == ()


def test_the_user_s_own_driver_stays(filtered: GitRepo, canary: Canary, home: Path) -> None:
    """CF-5 is about the repository's configuration: git-lfs, installed by the user, goes on working."""
    (home / ".gitconfig").write_text(f'[filter "x.y"]\n\tclean = {canary.program}\n')
    touch(filtered)
    repo = discover(filtered.root)
    assert repo is not None
    assert list_dirty(repo) == ()
    assert canary.started


def test_an_ordinary_repository_costs_no_further_process(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """UI-3: where no word of a filter stands in the configuration git is not asked for one."""
    repo.commit("one", **{"a.py": "def a(): pass\n"})
    watched = Watched(tmp_path / "bin", os.environ["PATH"])
    monkeypatch.setenv("PATH", watched.path)
    found = discover(repo.root)
    assert found is not None
    list_dirty(found)
    assert len(watched.asked()) == 3, "where, status, others"
