"""Every mode over a real index (QU-1, QU-2), and the answer around it (QU-6)."""

from __future__ import annotations

import pytest

from gitindex.errors import Gated, UsageError
from gitindex.model.settings import QuerySettings
from gitindex.search.engine import NoVectors
from gitindex.search.hit import Hit, SearchAnswer, fit_to_budget
from gitindex.search.request import MODES
from tests.search.conftest import FILES, Ask, Asked


def test_words_find_code_and_say_who_found_it(shop: Asked) -> None:
    """QU-2: path, lines, score, layers, precision, symbol, snippet."""
    hit = shop.hits("charge the credit card", "lexical")[0]
    assert (hit.path, hit.symbol, hit.kind) == ("shop/payment.py", "charge_card", "function")
    assert hit.layers == ("lexical",)
    assert hit.precision == "syntactic"
    assert "def charge_card" in hit.snippet
    lines = FILES["shop/payment.py"].split("\n")
    assert hit.snippet.split("\n")[0] == lines[hit.snippet_line - 1]


def test_hybrid_uses_words_and_vectors(shop: Asked) -> None:
    hit = shop.hits("put an item into the cart")[0]
    assert hit.path == "shop/cart.py"
    assert set(hit.layers) >= {"lexical", "dense"}


def test_semantic_mode_uses_vectors_alone(shop: Asked) -> None:
    hits = shop.hits("credit card payment", "semantic")
    assert hits
    assert {hit.layers for hit in hits} == {("dense",)}
    assert all(hit.snippet for hit in hits if hit.start_line != hit.end_line)


def test_a_name_alone_gives_its_definition_first(shop: Asked) -> None:
    for text in ("add_item", "ShoppingCart.add_item", "ADD_ITEM", "sym:add_item"):
        hit = shop.hits(text)[0]
        assert hit.path == "shop/cart.py", text
    assert "symbol" in shop.hits("ShoppingCart")[0].layers


def test_symbols_exact_then_prefix_then_parts(shop: Asked) -> None:
    assert shop.hits("refund", "symbol")[0].symbol == "refund"
    assert shop.hits("REFUND", "symbol")[0].symbol == "refund"
    assert shop.hits("charge", "symbol")[0].symbol == "charge_card"
    assert shop.hits("price total", "symbol")[0].symbol == "ShoppingCart.total_price"
    assert shop.hits("ShoppingCart.add_item", "symbol")[0].symbol == "ShoppingCart.add_item"


def test_regex_narrows_and_verifies(shop: Asked) -> None:
    hits = shop.hits(r"def \w+_card\(", "regex")
    assert [(hit.path, hit.matches) for hit in hits] == [("shop/payment.py", (4,))]
    assert sorted(shop.paths(r"(?i)shoppingcart\(\)", "regex")) == ["tests/test_cart.py"]
    assert shop.paths(r"^export", "regex") == ["web/cart.js"]
    assert shop.paths(r"[.]items[.]items[(][)]", "regex") == ["shop/cart.py"]


def test_a_regex_that_is_none_is_a_named_error(shop: Asked) -> None:
    for pattern in ("(", "a(?=b)", r"(a)\1", "*", "[z-a]"):
        with pytest.raises(UsageError, match="bad pattern"):
            shop(pattern, "regex")


def test_catastrophic_patterns_take_linear_time(make: Ask) -> None:
    asked = make({"a.txt": "a" * 5000 + "!\n"})
    assert asked.hits(r"(a+)+$", "regex") == ()
    assert asked.hits(r"(x+x+)+y", "regex") == ()


def test_phrases_prefixes_and_negation(shop: Asked) -> None:
    assert set(shop.paths('"credit card"', "lexical")) == {"shop/payment.py", "README.md"}
    assert set(shop.paths("pay* -credit", "lexical")) <= {"shop/payment.py"}
    for mode in ("lexical", "semantic", "hybrid"):
        begun = shop.hits("charge_c*", mode)
        assert begun, mode
        assert all("charge_c" in hit.snippet.lower() for hit in begun), mode
    for mode in ("lexical", "semantic", "hybrid"):
        found = shop.hits("cart -shopping", mode)
        assert found, mode
        assert not any("shopping" in hit.snippet.lower() for hit in found), mode
        assert all("credit card" in hit.snippet.lower() for hit in shop.hits('cart "credit card"', mode)), (
            mode
        )


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
def test_filters_mean_the_same_in_every_mode(shop: Asked, mode: str) -> None:
    """QU-1: path glob, language, kind."""
    assert set(shop.paths("cart", mode, languages=("js",))) == {"web/cart.js"}
    assert set(shop.paths("cart lang:javascript", mode)) == {"web/cart.js"}
    assert all(path.startswith("shop/") for path in shop.paths("cart", mode, globs=("shop/**",)))
    assert all("tests" not in path for path in shop.paths("cart -path:tests", mode))
    assert set(shop.paths("cart kind:test", mode)) == {"tests/test_cart.py"}
    assert {hit.kind for hit in shop.hits("cart", mode, kinds=("class",))} == {"class"}
    assert shop.paths("cart lang:cobol", mode) == []
    assert shop.paths("cart path:nowhere", mode) == []


def test_filters_in_symbol_and_regex_mode(shop: Asked) -> None:
    assert shop.paths("cart", "regex", languages=("javascript",)) == ["web/cart.js"]
    assert shop.paths("charge", "symbol", globs=("tests/**",)) == []
    assert {hit.kind for hit in shop.hits("ShoppingCart", "symbol", kinds=("class",))} == {"class"}


def test_filters_alone_list_files(shop: Asked) -> None:
    assert set(shop.paths("lang:javascript")) == {"web/cart.js"}


def test_answers_are_the_same_every_time(shop: Asked) -> None:
    for mode in MODES:
        first = shop("cart", mode).to_json()
        assert shop("cart", mode).to_json() == first, mode


def test_the_answer_carries_the_three_truths(own: Asked) -> None:
    """QU-6, CF-2."""
    answer = own("cart").to_json()
    assert answer["status"] == "ok"
    assert answer["freshness"]["in_sync"] is True
    assert answer["coverage"]["indexed"] == len(FILES)
    assert answer["trust"]["origin"] == "local"
    assert set(answer["fingerprints"]) == {"config", "ignore", "query"}
    own.repo.commit("more", **{"shop/new.py": "x = 1\n"})
    later = own("cart").to_json()["freshness"]
    assert (later["in_sync"], later["commits_behind"]) == (False, 1)


def test_sync_first_finds_what_is_new(own: Asked) -> None:
    """HK-5: without hooks, --sync catches up."""
    from gitindex.ops.answers.search_answer import QueryOptions

    own.repo.write("shop/fresh.py", "def entirely_new_thing():\n    pass\n")
    assert "shop/fresh.py" not in own.paths("entirely_new_thing")
    assert own.paths("entirely_new_thing", options=QueryOptions(sync=True))[0] == "shop/fresh.py"


def test_an_unindexed_codebase_is_gated(shop: Asked, tmp_path) -> None:
    """EN-1."""
    from gitindex.config import Environment
    from gitindex.ops.answers.search_answer import query
    from gitindex.ops.codebase import open_codebase
    from gitindex.search.request import Request

    other = open_codebase(shop.repo.root, Environment(home=tmp_path / "elsewhere"))
    with pytest.raises(Gated) as caught:
        query(other, Request("cart"))
    assert caught.value.detail["envelope"]["status"] == "not_indexed"


def test_semantic_without_vectors_says_how_to_get_them(make: Ask) -> None:
    asked = make({".gitindex.toml": '[embedding]\nprovider = "none"\n', "a.py": "def f(): pass\n"})
    with pytest.raises(NoVectors) as caught:
        asked("anything", "semantic")
    assert "gitindex sync" in str(caught.value.hint)
    assert asked("def f").result.notes == ("this index has no vectors: words alone were searched",)


def test_an_empty_answer_helps(shop: Asked) -> None:
    found = shop("shoppingkart", "lexical").result
    assert found.hits == ()
    assert "shoppingcart" in found.suggestions
    assert any("cobol" in note for note in shop("cart lang:cobol").result.notes)


def test_nothing_at_all_is_a_named_error(shop: Asked) -> None:
    """QU-5: no filter at all and no query."""
    with pytest.raises(UsageError, match="nothing to search for"):
        shop("  ")
    for mode, length in (("symbol", 5000), ("regex", 5000), ("hybrid", 1_000_001)):
        with pytest.raises(UsageError, match="characters"):
            shop("x" * length, mode)
    with pytest.raises(UsageError, match="limit"):
        shop("x", limit=0)
    with pytest.raises(UsageError, match="mode"):
        shop("x", "telepathy")


def test_long_answers_say_what_they_left_out() -> None:
    """QU-4: every answer has a size budget and says what it left out."""
    hits = tuple(Hit(f"{at}.py", 1, 2, 1.0, ("lexical",), "text", "x" * 500, 1) for at in range(10))
    found = fit_to_budget(SearchAnswer(hits), 2000)
    assert 0 < len(found.hits) < 10
    assert found.left_out == 10 - len(found.hits)
    assert "left out" in found.notes[0]
    assert len(fit_to_budget(SearchAnswer(hits), 10).hits) == 1
    assert fit_to_budget(SearchAnswer(hits), QuerySettings().max_answer_chars).hits == hits


def test_limits_are_kept_and_told(shop: Asked) -> None:
    answer = shop("cart", limit=1).to_json()
    assert len(answer["results"]) == 1
    assert answer["truncated"] is True
    assert answer["left_out"] > 0
