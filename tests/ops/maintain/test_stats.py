"""UI-2: rows that a compaction would drop, and what it would save."""

from __future__ import annotations

from gitindex.ops.maintain.stats import stats
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase, index


def test_replaced_rows_are_dead_until_a_compaction(repo: GitRepo):
    repo.commit("one", **{"a.py": "def alpha():\n    pass\n"})
    index(repo.root)
    clean = stats(codebase(repo.root))
    assert (clean["rows"]["dead"], clean["compaction"]["bytes_saved"], clean["segments"]) == (0, 0, 1)
    repo.write("a.py", "def beta():\n    pass\n")
    index(repo.root)
    edited = stats(codebase(repo.root))
    assert edited["rows"] == {"live": clean["rows"]["live"], "dead": clean["rows"]["live"]}
    assert (edited["segments"], edited["tombstones"]) == (2, 1)
    assert 0 < edited["compaction"]["bytes_saved"] < edited["bytes"]["total"]
