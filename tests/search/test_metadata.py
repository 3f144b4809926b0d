"""Notes by front matter (QU-5): every row of the metadata index's test table, and the rules around it."""

from __future__ import annotations

import os

import pytest

from gitindex.errors import UsageError
from gitindex.search.metadata import DateRange, is_within, parse_date_range
from gitindex.search.request import Request
from gitindex.segment import facts
from tests.search.conftest import FILES, Ask, Asked

_TAGGED = {"notes/jetson.md", "notes/cuda.md", "notes/undated.md"}


def test_empty_index(make: Ask) -> None:
    """No note at all: an empty answer, no crash."""
    assert make({"a.py": "x = 1\n"}).paths(tags=("jetson",)) == []


def test_upsert_and_query(own: Asked) -> None:
    assert set(own.paths(tags=("jetson",))) == _TAGGED
    assert own.paths(tags=("#Edge Computing",)) == ["notes/jetson.md"]
    assert own.paths(tags=("jetson", "cuda")) == ["notes/cuda.md"]
    own.repo.write("notes/cuda.md", FILES["notes/cuda.md"].replace("  - cuda\n", ""))
    own.sync()
    assert own.paths(tags=("cuda",)) == []


def test_reconcile_removes_orphans(own: Asked) -> None:
    """A deleted note is out of the index after a sync, and out of answers before."""
    os.unlink(own.repo.root / "notes/jetson.md")
    assert own.paths(tags=("edge computing",)) == []
    own.sync()
    assert own.paths(tags=("edge computing",)) == []
    assert "notes/jetson.md" not in own.paths("flash the board")


def test_fts5_fallback(make: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without FTS5 tags are found by LIKE, with the same answers."""
    monkeypatch.setattr(facts, "has_fts5", lambda _db: False)
    asked = make(FILES)
    assert set(asked.paths(tags=("jetson",))) == _TAGGED
    assert asked.paths(tags=("edge computing",)) == ["notes/jetson.md"]
    assert asked.paths(tags=("jet",)) == []
    assert asked.paths(tags=("j_tson",)) == []


def test_graceful_degradation(own: Asked) -> None:
    """A corrupt index never makes search fail: the files are scanned, and the answer says so."""
    layout = own.codebase.layout
    for file in (layout.base / "segments").rglob("facts.sqlite"):
        file.chmod(0o600)
        file.write_bytes(b"not a database")
    answer = own(tags=("jetson",)).to_json()
    assert answer["degraded"] is True
    assert answer["status"] == "ok"
    assert {hit["path"] for hit in answer["results"]} == _TAGGED
    assert "gitindex" in answer["hints"]["repair"]["command"]


def test_date_range_filtering(shop: Asked) -> None:
    assert shop.paths(since="2024-01-01") == ["notes/cuda.md", "notes/jetson.md"]
    assert shop.paths(since="2024-03-06") == ["notes/cuda.md"]
    assert shop.paths(until="2024-03-05") == ["notes/jetson.md"]
    assert shop.paths(since="2024-05-20", until="2024-05-20") == ["notes/cuda.md"]
    assert shop.paths(since="2024-05-20T10:00:01Z") == []
    assert shop.paths(since="2024-05-20T12:00:00+02:00") == ["notes/cuda.md"]
    assert shop.paths(since="2025-01-01") == []


def test_a_note_without_a_date_matches_no_range(shop: Asked) -> None:
    assert "notes/undated.md" not in shop.paths(since="0001-01-01", until="9999-12-31")
    assert not is_within("", DateRange())


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2024-5-1",
        "2024-02-30",
        "20240501",
        "2024-05-01 10:00",
        "01/05/2024",
        "2024-W01-1",
        "٢٠٢٤-٠١-٠١",
    ],
)
def test_dates_are_iso_or_rejected(shop: Asked, text: str) -> None:
    with pytest.raises(UsageError, match="ISO-8601"):
        shop("jetson", since=text)
    with pytest.raises(UsageError, match="ISO-8601"):
        parse_date_range(Request(until=text))


def test_sessions(shop: Asked) -> None:
    assert shop.paths(session="s-1") == ["notes/jetson.md"]
    assert shop.paths(session="s-") == []


def test_text_search_runs_only_among_the_candidates(shop: Asked) -> None:
    for mode in ("hybrid", "lexical", "semantic"):
        assert set(shop.paths("recovery", mode, tags=("jetson",), since="2024-01-01")) == {
            "notes/jetson.md",
            "notes/cuda.md",
        }
    assert shop.paths("recovery", "regex", session="s-2") == ["notes/cuda.md"]
    assert shop.paths("shopping cart", tags=("nothing has this",)) == []


def test_metadata_alone_is_an_answer(shop: Asked) -> None:
    hit = shop.hits(session="s-1")[0]
    assert hit.layers == ("metadata",)
    assert "Flashing" in hit.snippet


def test_other_filters_hold_for_metadata_answers(shop: Asked) -> None:
    assert shop.paths(tags=("jetson",), globs=("notes/c*",)) == ["notes/cuda.md"]
    assert shop.paths(tags=("jetson",), limit=1) == ["notes/cuda.md"]
