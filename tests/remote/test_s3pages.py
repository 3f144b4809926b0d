"""EN-8: a listing ends, whatever the server sends."""

from __future__ import annotations

from typing import Any

import pytest

from gitindex.errors import RemoteMisbehaves
from gitindex.remote.transports import s3pages
from gitindex.remote.transports.s3pages import Pages


def page(*keys: str, token: str = "") -> dict[str, Any]:
    following = {"IsTruncated": True, "NextContinuationToken": token} if token else {}
    return {"Contents": [{"Key": key} for key in keys], **following}


def test_a_listing_of_two_pages():
    pages = Pages("s3://b")
    assert [entry["Key"] for entry in pages.take(page("a", "b", token="t"))] == ["a", "b"]
    assert (pages.has_more, pages.next_arguments) == (True, {"ContinuationToken": "t"})
    assert [entry["Key"] for entry in pages.take(page("c"))] == ["c"]
    assert not pages.has_more


def test_a_token_without_truncation_ends_the_listing():
    pages = Pages("s3://b")
    pages.take({"Contents": [{"Key": "a"}], "NextContinuationToken": "t"})
    assert not pages.has_more


@pytest.mark.parametrize("keys", [("b",), ("a",), ("a", "b")])
def test_keys_must_grow(keys: tuple[str, ...]):
    pages = Pages("s3://b")
    pages.take(page("a", "b", token="t"))
    with pytest.raises(RemoteMisbehaves, match="listed before"):
        pages.take(page(*keys, token="u"))


def test_an_empty_page_does_not_reset_the_last_key():
    pages = Pages("s3://b")
    pages.take(page("b", token="t"))
    pages.take(page(token="u"))
    with pytest.raises(RemoteMisbehaves, match="listed before"):
        pages.take(page("a"))


def test_a_token_is_used_once():
    pages = Pages("s3://b")
    pages.take(page("a", token="t"))
    with pytest.raises(RemoteMisbehaves, match="earlier page"):
        pages.take(page("b", token="t"))


def test_a_key_is_required():
    with pytest.raises(RemoteMisbehaves, match="without a key"):
        Pages("s3://b").take({"Contents": [{"Size": 1}]})


def test_empty_pages_in_a_row_are_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(s3pages, "MAX_EMPTY_PAGES", 2)
    pages = Pages("s3://b")
    pages.take(page(token="1"))
    pages.take(page("a", token="2"))
    pages.take(page(token="3"))
    with pytest.raises(RemoteMisbehaves, match="after 2 empty pages"):
        pages.take(page(token="4"))


def test_the_last_page_may_be_empty(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(s3pages, "MAX_EMPTY_PAGES", 1)
    pages = Pages("s3://b")
    pages.take(page("a", token="1"))
    assert pages.take(page()) == []
    assert not pages.has_more


def test_the_number_of_pages_is_limited(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(s3pages, "MAX_PAGES", 2)
    pages = Pages("s3://b")
    pages.take(page("a", token="1"))
    with pytest.raises(RemoteMisbehaves, match="after 2 pages"):
        pages.take(page("b", token="2"))
