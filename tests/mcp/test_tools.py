"""`mcp.tools`: what a call becomes below the protocol (UI-2, EN-8)."""

from __future__ import annotations

from typing import Any

import pytest

from gitindex.errors import GitindexError
from gitindex.mcp import memory, tools
from gitindex.mcp.tools import Tools
from gitindex.ops.answers import structural_answers
from gitindex.ops.answers.gated_read import ReadOptions
from gitindex.ops.answers.search_answer import QueryAnswer, fit_hits
from tests.gate.conftest import FILES
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase, index


def test_a_call_graph_goes_as_deep_as_documented(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """UI-2: two calls up, unless asked otherwise."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(structural_answers, "call_graph", lambda *_, **options: asked.append(options))
    for arguments in ({"symbol": "start"}, {"symbol": "start", "depth": 5, "direction": "callees"}):
        tools._build_call_graph(codebase(repo.root), arguments, ReadOptions())
    assert [(options["direction"], options["depth"]) for options in asked] == [("callers", 2), ("callees", 5)]
    assert {options["note_limit"] for options in asked} == {50}


def test_only_a_read_that_syncs_asks_for_an_index_first(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """EN-8: `sync` on what has no index indexes nothing; the reader is not even asked."""
    read: list[str] = []
    trimmed: list[bool] = []
    monkeypatch.setitem(tools._READERS, "find_symbol", lambda *_: read.append("find_symbol") or {})
    monkeypatch.setattr(memory, "trim_heap", lambda: trimmed.append(True))
    repo.commit("first", **FILES)
    served, options = (
        Tools(codebase(repo.root).environment, repo.root),
        ReadOptions(sync=True, requested=repo.root),
    )
    with pytest.raises(GitindexError):
        served._read_index("find_symbol", codebase(repo.root), {}, options)
    assert (read, trimmed) == ([], [])
    served._read_index("find_symbol", codebase(repo.root), {}, ReadOptions(requested=repo.root))
    assert (read, trimmed) == (["find_symbol"], [])
    index(repo.root)
    served._read_index("find_symbol", codebase(repo.root), {}, options)
    assert (read, trimmed) == (["find_symbol"] * 2, [True])


def test_a_search_counts_what_it_cut(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """QU-4: what the answer's budget cut is added to what the limit left out."""
    repo.commit("first", **{f"{name}.py": f"needle = '{name}'\n" for name in "abcdefgh"})
    index(repo.root)

    def search(budget: int) -> QueryAnswer:
        monkeypatch.setattr(tools, "fit_hits", lambda answer, _: fit_hits(answer, budget))
        arguments = {"query": "needle", "limit": 5, "mode": "lexical"}
        return tools._search(codebase(repo.root), arguments, ReadOptions(requested=repo.root))

    whole, cut = search(60_000), search(2_000)
    assert len(whole.result.hits) == 5
    assert 0 < len(cut.result.hits) < 5
    missing = len(whole.result.hits) - len(cut.result.hits)
    assert cut.to_json()["left_out"] == whole.to_json()["left_out"] + missing
