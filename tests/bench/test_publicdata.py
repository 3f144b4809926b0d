"""Retrieval over data that the caller brings: what counts as found, what is reported, what is missing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from benchmarks import publicdata
from benchmarks.publicdata import Answered, Located

from gitindex.search.hit import Hit
from tests.support.gitrepo import GitRepo

_CART = "class Cart:\n    def add(self, item):\n        self.items.append(item)\n"
_MONEY = "def convert(amount, rate):\n    return amount * rate\n"


def hit(path: str, first: int = 1, last: int = 9) -> Hit:
    return Hit(path, first, last, 1.0, ("lexical",), "text", "", first)


def test_a_target_is_found_by_the_end_of_its_path_and_by_its_lines() -> None:
    assert publicdata.covers(hit("lib/cart.py"), "src/lib/cart.py")
    assert publicdata.covers(hit("src/lib/cart.py"), "cart.py")
    assert not publicdata.covers(hit("lib/cart.py"), "lib/a_cart.py")
    lines = {"path": "cart.py", "start_line": 5, "end_line": 7}
    assert publicdata.covers(hit("cart.py", 7, 12), lines)
    assert not publicdata.covers(hit("cart.py", 8, 12), lines)


def test_every_target_counts_once_at_its_first_result() -> None:
    hits = [hit("a.py"), hit("x.py"), hit("a.py"), hit("b.py")]
    best = 1 + 1 / math.log2(3)
    assert publicdata.score_hits(hits, ["a.py", "b.py"]) == pytest.approx((1 + 1 / math.log2(5)) / best)
    assert publicdata.score_hits(hits, ["a.py"]) == 1.0
    assert publicdata.score_hits(hits, ["c.py"]) == 0.0


def test_losing_rows_are_printed() -> None:
    answered = [
        Answered("shop", "python", "symbol", "Cart", 1.0, ("cart.py",)),
        Answered("shop", "python", "semantic", "who pays", 0.2, ("cart.py",)),
        Answered("bank", "c", "semantic", "the rate", 0.9, ("rate.c",)),
    ]
    text = publicdata.question_tables(answered)
    assert "| **all** | mean of repositories | **0.7500** | 3 |" in text
    assert "| shop | who pays | 0.20 | cart.py |" in text
    assert "the rate" not in text
    located = [Located("one", 1, False), Located("two", 30, False), Located("three", None, True)]
    table = publicdata.issue_table(located)
    assert "| 3 | 1 | 33.3 | 33.3 | 33.3 | 66.7 |" in table
    assert "| two | 30 |" in table
    assert "| three | beyond 50 |" in table


@pytest.fixture
def mirror(tmp_path: Path) -> tuple[Path, str]:
    """A bare clone in its place, and the commit."""
    repo = GitRepo.create(tmp_path / "work")
    repo.git("config", "user.name", "A U Thor")
    repo.git("config", "user.email", "author@example.com")
    repo.commit("first", **{"src/cart.py": _CART, "src/money.py": _MONEY})
    target = tmp_path / "mirror" / "me+shop" / "repo"
    target.parent.mkdir(parents=True)
    repo.git("clone", "-q", "--bare", str(repo.root), str(target))
    return tmp_path / "mirror", repo.git("rev-parse", "HEAD").strip()


def test_both_kinds_of_data_are_asked(
    mirror: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clones, commit = mirror
    spec = {"name": "shop", "language": "python", "url": "https://github.com/me/shop.git", "revision": commit,
            "benchmark_root": "src", "queries": [{"query": "Cart", "relevant": ["src/cart.py"]}]}  # fmt: skip
    gone = {**spec, "name": "gone", "revision": "0" * 40}
    issue = {"id": "shop-1", "repo": "me/shop", "base_commit": commit, "files": ["src/money.py"],
             "issue": "Wrong amount\n\nThe `convert` function takes the wrong rate.\nSee money.py"}  # fmt: skip
    questions, issues = tmp_path / "questions.json", tmp_path / "issues.jsonl"
    questions.write_text(json.dumps([spec, gone]))
    issues.write_text(json.dumps(issue) + "\n")
    rows = publicdata.run(tmp_path / "cache", clones, questions, issues, 1)
    assert [row.value for row in rows] == ["1.0000", "100.0 %", "100.0 %", "100.0 %", "100.0 %"]
    said = capsys.readouterr().out
    assert "gone: no clone with 0000000000" in said
    assert "| shop | repository | 1.000 | 1 |" in said
