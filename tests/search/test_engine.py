"""`search.engine`: what an answer says about what it left out (QU-4)."""

from __future__ import annotations

import pytest

from gitindex.search import engine
from tests.support.gitrepo import GitRepo
from tests.support.harness import cli, index


@pytest.mark.parametrize(("bound", "more"), [(3, True), (4, False)])
def test_a_pattern_that_fills_the_bound_may_have_more(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, bound: int, more: bool
):
    """QU-4: nobody knows what lies beyond the last chunk that was read."""
    repo.commit("first", **{f"{name}.py": f"needle_{name} = 1\n" for name in "abc"})
    index(repo.root)
    monkeypatch.setattr(engine, "_REGEX_CHUNKS", bound)
    answer = cli("search", "needle_[a-z]", "--mode", "regex", "--json", "--path", str(repo.root)).json
    assert len(answer["results"]) == 3
    assert answer["left_out_at_least"] is more


@pytest.mark.parametrize(
    ("provider", "word", "hits", "expected"),
    [("static", "cart", True, False), ("static", "zebra", True, True), ("none", "zebra", False, False)],
    ids=["the word is there", "only neighbours", "no hits"],
)
def test_only_neighbours_in_meaning_are_said_to_be_that(
    repo: GitRepo, provider: str, word: str, hits: bool, expected: bool
):
    """An answer without hits has no neighbours either."""
    settings = f'[embedding]\nprovider = "{provider}"\n'
    repo.commit("first", **{"shop.py": "def fill_cart():\n    return 1\n", ".gitindex.toml": settings})
    index(repo.root)
    answer = cli("search", word, "--glob", "*.py", "--json", "--path", str(repo.root)).json
    assert (bool(answer["results"]), answer.get("nearest_only", False)) == (hits, expected)
