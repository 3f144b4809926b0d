"""One call within a token budget: files, passages, definitions with callers, what was left out (QU-8)."""

from __future__ import annotations

import json

import pytest

from gitindex.config import load_environment
from gitindex.errors import UsageError
from gitindex.mcp.server import Service
from gitindex.ops.answers.answer_budget import json_length
from gitindex.ops.answers.exploration import CallerPlace, explore
from gitindex.ops.answers.gated_read import ReadOptions
from tests.search.conftest import Ask, Asked
from tests.search.test_pasted import TRACEBACK
from tests.support.harness import cli


def test_one_call_gives_files_passages_and_callers(shop: Asked) -> None:
    answer = explore(shop.codebase, "total price of the cart", ReadOptions(), tokens=4000)
    assert answer.files[0].path == "shop/cart.py"
    assert {passage.path for passage in answer.passages} >= {"shop/cart.py", "shop/payment.py"}
    assert any("def total_price" in passage.text for passage in answer.passages)
    assert {"freshness", "coverage", "trust"} <= answer.to_json().keys()


def test_definitions_name_their_callers(make: Ask) -> None:
    asked = make(
        {
            ".gitindex.toml": '[embedding]\nprovider = "none"\n',
            "money.py": "def convert_money(amount):\n    return amount * 2\n",
            "till.py": "from money import convert_money\n\n\ndef pay(amount):\n    return convert_money(amount)\n",
        }
    )
    answer = explore(asked.codebase, "convert_money", ReadOptions())
    (item,) = [item for item in answer.definitions if item.symbol == "convert_money"]
    assert (item.path, item.line, item.callers_left_out) == ("money.py", 1, 0)
    assert item.callers == (CallerPlace("till.py", 5, "pay"),)


@pytest.mark.parametrize("tokens", [200, 300, 600, 2000, 20_000])
def test_the_budget_is_kept_and_what_is_missing_is_counted(make: Ask, tokens: int) -> None:
    files = {
        f"part{at}.py": f"def needle_{at}(x):\n" + "    x += 1\n" * 8 + "    return x\n" for at in range(60)
    }
    asked = make({".gitindex.toml": '[embedding]\nprovider = "none"\n', **files})
    answer = explore(asked.codebase, "needle", ReadOptions(), tokens=tokens)
    assert json_length([answer.files, answer.passages, answer.definitions]) <= 4 * tokens
    assert answer.tokens <= answer.budget_tokens == tokens
    assert answer.files
    assert len(answer.files) + answer.basis.left_out.get("files", 0) >= 60
    assert answer.basis.left_out.get("passages", 0) >= 0
    assert len(answer.passages) <= len(answer.files)


def test_a_larger_budget_only_adds(shop: Asked) -> None:
    small, large = (explore(shop.codebase, "cart", ReadOptions(), tokens=tokens) for tokens in (300, 3000))
    assert large.files[: len(small.files)] == small.files
    assert len(large.passages) >= len(small.passages)


@pytest.mark.parametrize("tokens", [0, 199, 100_001])
def test_a_budget_out_of_range_is_a_named_error(shop: Asked, tokens: int) -> None:
    with pytest.raises(UsageError, match="tokens"):
        explore(shop.codebase, "cart", ReadOptions(), tokens=tokens)


def test_a_pasted_traceback_is_answered_at_every_door(shop: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITINDEX_HOME", str(shop.codebase.home))
    ran = cli("explore", "--tokens", "200", "--path", str(shop.repo.root), "--", TRACEBACK)
    assert ran.out.startswith("shop/payment.py:")
    assert "left out: " in ran.out
    service = Service(load_environment(), shop.repo.root)
    answer = json.loads(service.call("explore", {"question": TRACEBACK, "tokens": 500}).text)
    assert answer["files"][0]["path"] == "shop/payment.py"


def test_nothing_found_has_its_reason(make: Ask) -> None:
    asked = make({"a.py": "def cart():\n    pass\n", ".gitindex.toml": '[embedding]\nprovider = "none"\n'})
    answer = explore(asked.codebase, "zebra", ReadOptions())
    assert answer.files == ()
    assert answer.notes
