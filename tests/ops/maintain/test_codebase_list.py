"""EN-5: one entry per root, the last synced store of it; a damaged store is an entry too."""

from __future__ import annotations

from gitindex.config import load_environment
from gitindex.ops.maintain.codebase_list import list_codebases
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase, index


def test_stores_of_one_root_are_one_entry(repo: GitRepo):
    repo.commit("one", **{"a.py": "x = 1\n"})
    index(repo.root)
    repo.write(".gitindex.toml", "[index]\nexclude = ['b.py']\n")
    index(repo.root)
    (entry,) = list_codebases(load_environment())["codebases"]
    assert (entry["root"], entry["other_stores"]) == (str(repo.root), 1)
    assert entry["store_id"] == codebase(repo.root).layout.id, "the last synced one"


def test_a_torn_pointer_is_a_problem_of_its_entry(repo: GitRepo):
    repo.commit("one", **{"a.py": "x = 1\n"})
    index(repo.root)
    codebase(repo.root).layout.active_pointer.write_text("nonsense")
    (entry,) = list_codebases(load_environment())["codebases"]
    assert entry["snapshot_id"] is None
    assert entry["problems"]
