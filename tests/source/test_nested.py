"""EL-4: submodules and nested repositories stay closed by default; entered, they have a name space of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import harness
from tests.support.gitrepo import GitRepo

ENTER = "[index]\nsubmodules = true\n"


@pytest.fixture(autouse=True)
def allowed(home: Path) -> Path:
    """The user lets repositories ask for their submodules."""
    mine = home / ".gitindex" / "config.toml"
    mine.parent.mkdir()
    mine.write_text(ENTER)
    return mine


@pytest.fixture
def outer(tmp_path: Path, repo: GitRepo) -> GitRepo:
    inner = GitRepo.create(tmp_path / "inner")
    inner.commit("one", **{"lib.py": "def inner_one(): pass\n"})
    repo.commit("first", **{"a.py": "def outer(): pass\n"})
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "vendored/inner")
    repo.git("commit", "-q", "-m", "submodule")
    nested = GitRepo.create(repo.root / "scratch")
    nested.commit("one", **{"note.py": "def nested(): pass\n"})
    return repo


def paths(repo: GitRepo) -> dict[str, str]:
    with harness.view(repo.root) as view:
        return {record.path: record.skip for record in view.records()}


def test_closed_by_default(outer: GitRepo):
    harness.index(outer.root)
    found = paths(outer)
    assert found["vendored/inner"] == "submodule"
    assert found["scratch"] == "nested_repository"
    assert not any(path.startswith(("vendored/inner/", "scratch/")) for path in found)


def test_entered_when_asked(outer: GitRepo, tmp_path: Path):
    outer.write(".gitindex.toml", ENTER)
    harness.index(outer.root)
    found = paths(outer)
    assert found["vendored/inner/lib.py"] == ""
    assert found["scratch/note.py"] == ""
    assert "vendored/inner" not in found
    inner = GitRepo(outer.root / "vendored/inner")
    inner.commit("two", **{"lib.py": "def inner_two(): pass\n"})
    assert harness.index(outer.root).noop, "the parent still records the old commit"
    outer.git("commit", "-q", "-am", "move submodule")
    assert harness.index(outer.root).changes["modify"] == 1
    assert harness.digest_of(outer.root) == harness.clean_digest(outer.root, tmp_path / "scratch-home")


def test_a_submodule_that_is_not_checked_out_stays_a_skip(outer: GitRepo):
    outer.write(".gitindex.toml", ENTER)
    outer.git("submodule", "deinit", "-q", "-f", "vendored/inner")
    harness.index(outer.root)
    assert paths(outer)["vendored/inner"] == "submodule"
