"""The query language (QU-1): everything is valid, everything means something."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitindex.search.parse import looks_like_code, parse


def test_words_phrases_prefixes_and_negations() -> None:
    found = parse('open "read only" conn* -test -"old way"')
    assert found.words == ("open",)
    assert found.phrases == ("read only",)
    assert found.prefixes == ("conn",)
    assert found.excluded == ("test", "old way")
    assert found.text == "open read only conn"


def test_small_words_tell_chunks_apart_only_when_there_are_no_others() -> None:
    assert parse("the lines of a file").content_terms == ["lines", "file"]
    assert parse("to be or").content_terms == ["to", "be", "or"]
    assert parse("").content_terms == []


def test_filters_and_their_negations() -> None:
    found = parse('path:src/ -path:"a b" lang:PY kind:Class sym:Foo -sym:bar language:c++')
    assert found.only.paths == ("src/",)
    assert found.without.paths == ("a b",)
    assert found.only.languages == ("python", "cpp")
    assert found.only.kinds == ("class",)
    assert found.only.symbols == ("Foo",)
    assert found.without.symbols == ("bar",)
    assert found.text == ""


def test_what_is_no_field_is_text() -> None:
    assert parse("std::string").text == "std::string"
    assert parse("http://example.org").text == "http://example.org"
    assert parse("path:").text == "path:"
    assert parse('"open quote').phrases == ("open quote",)
    assert parse('- "" :').text == ""


def test_a_query_that_is_a_name() -> None:
    assert parse("ShoppingCart").symbol == "ShoppingCart"
    assert parse("Cart.add_item()").symbol == "Cart.add_item"
    assert parse("sym:refund money back").symbol == "refund"
    assert parse("shopping cart").symbol == ""
    assert parse("where is total_price computed").names == ["total_price"]


def test_code_is_told_from_prose() -> None:
    assert all(map(looks_like_code, ("add_item", "addItem", "HTTPServer", "a.b", "f()", "std::sort")))
    assert not any(map(looks_like_code, ("add", "Add", "item", "_")))


@given(st.text(max_size=200))
def test_nothing_is_a_syntax_error(text: str) -> None:
    found = parse(text)
    found.text.encode()  # no lone surrogates reach an index
    assert found.terms is not None
    assert isinstance(found.symbol, str)
