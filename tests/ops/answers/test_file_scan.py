"""QU-5: without an index the eligible files answer, and the answer says so."""

from __future__ import annotations

from gitindex.ops.answers.file_scan import scan
from gitindex.search.request import Request
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase


def test_only_eligible_files_are_searched(repo: GitRepo):
    repo.commit("one", **{"a.py": "needle = 1\n", "b.py": "needle = 2\n", ".gitindexignore": "b.py\n"})
    found = scan(codebase(repo.root), Request(query="needle"), "there is no index")
    assert [hit.path for hit in found.hits] == ["a.py"]
    assert found.degraded == "there is no index"
