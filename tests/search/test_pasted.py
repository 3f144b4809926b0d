"""Pasted text is prose (QU-7): it excludes nothing, what points at code comes first, and an empty answer has its reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitindex.config import load_environment
from gitindex.mcp.server import Service
from gitindex.search.clues import cut_pasted, find_clues, is_pasted
from gitindex.search.mentions import PathTable, find_mentions
from gitindex.search.parse import read_pasted
from gitindex.search.request import LONG_QUERY_CHARS
from gitindex.search.termchoice import choose_terms
from tests.search.conftest import Ask, Asked
from tests.support.harness import cli

TRACEBACK = (
    "Charging fails -- why?\n\n"
    "Traceback (most recent call last):\n"
    '  File "/home/me/site-packages/shop/payment.py", line 6, in charge_card\n'
    '    raise NotImplementedError("no such \\"phrase\\" anywhere")\n'
    "NotImplementedError: -path:shop lang:cobol sym:nothing\n"
)


# -- what is pasted -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        TRACEBACK,
        'File "/a/b.py", line 3, in x',
        "    at com.shop.Cart.add(Cart.java:12)",
        "--- a/shop/cart.py\n+++ b/shop/cart.py",
        "```python\ncart.add()\n```",
        "one\ntwo\nthree",
        "word " * 100,
    ],
)
def test_long_many_lined_and_traced_text_is_pasted(text: str) -> None:
    assert is_pasted(text)


@pytest.mark.parametrize(
    "text",
    ["cart", '"credit card" -refund path:shop lang:python', "how does\nthe cart work", "", "a -- b at c:3"],
)
def test_what_people_type_is_not(text: str) -> None:
    assert not is_pasted(text)


def test_nothing_in_pasted_text_is_a_condition() -> None:
    query = read_pasted(TRACEBACK)
    assert not query.has_conditions
    assert not any(query.only)
    assert not any(query.without)
    assert query.symbol == ""
    assert {"phrase", "cobol", "charge"} <= set(query.terms)


@given(st.text(max_size=600))
def test_any_text_can_be_read_as_pasted(text: str) -> None:
    query = read_pasted(text)
    assert query.pasted
    assert not query.has_conditions


# -- what points at code ------------------------------------------------------------------------------


def test_clues_are_paths_frames_modules_and_names() -> None:
    clues = find_clues(
        "Cart breaks\n\nSee `ShoppingCart.add_item` in shop/cart.py or shop\\payment.py:12 and shop.payment.refund.\n"
        f"{TRACEBACK}"
    )
    assert clues.title == "Cart breaks"
    assert {"shop/cart.py", "shop/payment.py"} <= set(clues.paths)
    assert clues.frames == ("/home/me/site-packages/shop/payment.py".lstrip("/"),)
    assert "shop.payment.refund" in clues.dotted
    assert clues.names[:3] == ("ShoppingCart", "add_item", "NotImplementedError")
    assert "charge_card" in clues.names


def test_files_are_found_by_path_module_and_frame() -> None:
    table = PathTable(
        ["a/shop/cart.py", "a/shop/__init__.py", "b/cart.py", "a/shop/sub/money.py", "README.md"]
    )
    assert table.find_path("/usr/lib/a/shop/cart.py") == ["a/shop/cart.py"]
    assert table.find_path("shop/cart.py") == ["a/shop/cart.py"]
    assert table.find_path("cart.py") == ["a/shop/cart.py", "b/cart.py"]
    assert table.find_path("art.py") == []
    assert table.find_module("shop.sub.money.Money.add") == ["a/shop/sub/money.py"]
    assert table.find_module("a.shop") == ["a/shop/__init__.py"]
    assert table.find_module("os.path") == []


def test_a_path_that_fits_one_file_says_more_than_one_that_fits_two() -> None:
    table = PathTable(["a/cart.py", "b/cart.py", "a/money.py"])
    found = find_mentions(find_clues("see cart.py and money.py"), table)
    assert found["a/money.py"] == 1.0
    assert found["a/cart.py"] == found["b/cart.py"] == 0.5


def test_inner_frames_say_more_than_outer_ones() -> None:
    frames = "\n".join(f'  File "/x/{name}.py", line 1, in f' for name in ("outer", "inner"))
    found = find_mentions(find_clues(frames), PathTable(["outer.py", "inner.py"]))
    assert found["inner.py"] > found["outer.py"] > 0


def test_telling_words_are_rare_frequent_or_in_the_title() -> None:
    rarity = {"rare": 5.0, "usual": 1.0, "head": 1.0, "said": 1.0}
    words = ["usual", "rare", "head", "said", "said", "said", "unknown"]
    chosen = choose_terms(words, ["head"], lambda word: rarity.get(word, 0.0), 3)
    assert [word for word, _ in chosen] == ["rare", "said", "head"]
    assert dict(chosen)["said"] > dict(chosen)["rare"]


def test_of_very_long_text_the_two_ends_are_read() -> None:
    text = "begin " + "x" * 300_000 + " end"
    read = cut_pasted(text)
    assert len(read) < 101_000
    assert read.startswith("begin")
    assert read.endswith("end")


# -- over a real index --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
@pytest.mark.parametrize("more", [{}, {"files": True}, {"flat": True}])
def test_a_traceback_is_answered(shop: Asked, mode: str, more: dict[str, bool]) -> None:
    assert "shop/payment.py" in shop.paths(TRACEBACK, mode, **more)


def test_the_file_of_the_innermost_frame_comes_first(shop: Asked) -> None:
    assert shop.paths(TRACEBACK)[0] == "shop/payment.py"


def test_filters_of_the_request_hold_for_pasted_text(shop: Asked) -> None:
    assert shop.paths(TRACEBACK, globs=("web/**",)) == ["web/cart.js"]
    assert set(shop.paths(TRACEBACK, languages=("javascript",))) <= {"web/cart.js"}


def test_over_long_text_says_how_it_was_read(shop: Asked) -> None:
    text = f"{TRACEBACK}\n" + "the cart of a customer " * 500
    assert len(text) > LONG_QUERY_CHARS
    found = shop(text).result
    assert found.hits
    assert "most telling words" in found.notes[0]
    assert not shop(TRACEBACK).result.notes


def test_pasted_text_reaches_every_door(shop: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITINDEX_HOME", str(shop.codebase.home))
    ran = cli("search", "--path", str(shop.repo.root), "--json", "--", TRACEBACK)
    assert ran.json["results"][0]["path"] == "shop/payment.py"
    text = f"{TRACEBACK}\n" + "x" * 20_000
    answer = json.loads(
        Service(load_environment(), shop.repo.root).call("search_codebase", {"query": text}).text
    )
    assert answer["results"][0]["path"] == "shop/payment.py"


# -- short questions ----------------------------------------------------------------------------------


def test_a_phrase_that_nothing_has_is_relaxed_and_says_so(shop: Asked) -> None:
    found = shop('"card credit" charge', "lexical").result
    assert found.relaxed
    assert '"card credit"' in found.notes[0]
    assert found.hits[0].path == "shop/payment.py"
    assert not shop('"credit card"', "lexical").result.relaxed


def test_relaxing_keeps_what_must_not_be_there(shop: Asked) -> None:
    found = shop('"card credit" -path:shop', "lexical").result
    assert found.relaxed
    assert not any(hit.path.startswith("shop/") for hit in found.hits)


def test_json_says_relaxed(shop: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITINDEX_HOME", str(shop.codebase.home))
    where = ("search", "--path", str(shop.repo.root), "--json")
    assert cli(*where, '"card credit" charge').json["relaxed"] is True
    assert "relaxed" not in cli(*where, '"credit card"').json


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("zzz", "lexical"),
        ("zzz kind:function", "lexical"),
        ("zzz_[0-9]+", "regex"),
        ("zzz", "symbol"),
        ("nowher*", "hybrid"),
        ('"zzz yyy"', "lexical"),
        ("cart sym:nowhere", "hybrid"),
        ("cart path:nowhere", "hybrid"),
    ],
)
def test_an_empty_answer_has_its_reason(shop: Asked, text: str, mode: str) -> None:
    found = shop(text, mode).result
    assert not found.hits
    assert found.notes
    assert not found.relaxed


def test_an_index_of_nothing_says_so(make: Ask) -> None:
    found = make({".gitindex.toml": '[embedding]\nprovider = "none"\n'})("cart", "lexical").result
    assert not found.hits
    assert any("none of these words" in note for note in found.notes)
