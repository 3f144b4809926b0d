"""Documents of several scip files as one: the newest wins, and only current ones have positions (SE-7, SE-8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.view.exact_facts import ScipView, SymbolPosition
from tests.segment.scipfiles import Document, symbol, symbol_hash, write_scip

OLD = [
    Document("a.py", defines=("alpha",), blob="a1"),
    Document("b.py", reads=("alpha",), blob="b1"),
    Document("gone.py", reads=("alpha",), blob="g1"),
]
NEW = [Document("b.py", defines=("beta",), reads=("alpha",), blob="b2")]


@pytest.fixture
def indexed() -> dict[str, str]:
    """What the snapshot indexed: path → blob."""
    return {"a.py": "a1", "b.py": "b2", "gone.py": "g1"}


@pytest.fixture
def view(tmp_path: Path, indexed: dict[str, str]) -> ScipView:
    paths = [
        write_scip(tmp_path / "old.sqlite", OLD),
        write_scip(tmp_path / "new.sqlite", NEW, tombstones=["gone.py"], context="other"),
    ]
    return ScipView(paths, indexed.get)


def test_the_newest_document_of_a_path_counts(view: ScipView) -> None:
    assert [(header.path, header.blob) for header in view.documents()] == [("a.py", "a1"), ("b.py", "b2")]
    newest = view.find_document("b.py")
    assert newest is not None
    assert newest.blob == "b2"
    assert view.find_document("gone.py") is None, "a tombstone hides it"
    assert [item.line for item in view.occurrences("b.py")] == [1, 2, 3]
    assert view.occurrences("gone.py") == []


def test_positions_of_stale_documents_are_returned_only_on_request(
    view: ScipView, indexed: dict[str, str]
) -> None:
    alpha = symbol_hash("alpha")
    assert list(view.positions(alpha)) == [SymbolPosition("a.py", 1, 5, 1), SymbolPosition("b.py", 2, 5, 8)]
    assert list(view.positions(alpha, current=False)) == []
    indexed["b.py"] = "edited since"
    edited = ScipView(view.paths, indexed.get)
    assert [position.path for position in edited.positions(alpha)] == ["a.py"]
    assert list(edited.positions(alpha, current=False)) == [SymbolPosition("b.py", 2, 5, 8)]
    assert (edited.is_current("a.py"), edited.is_current("b.py")) == (True, False)
    assert edited.is_current("gone.py") is False
    assert edited.definition_positions(symbol_hash("beta")) == []


def test_names_come_from_any_segment(view: ScipView) -> None:
    assert view.name(symbol_hash("alpha")) == symbol("alpha")
    assert view.name(symbol_hash("beta")) == symbol("beta")
    assert view.name(symbol_hash("nowhere")) is None
    assert view.find_by_short_name("beta") == [(symbol_hash("beta"), symbol("beta"))]


def test_a_definition_of_the_same_context_is_not_outside(view: ScipView) -> None:
    assert view.is_defined_outside(symbol_hash("alpha"), context="other")
    assert not view.is_defined_outside(symbol_hash("alpha"), context="python:.")
    assert view.is_defined_outside(symbol_hash("beta"), context="python:.")


def test_dependencies_lead_to_the_documents_that_define(view: ScipView) -> None:
    assert view.dependencies() == {"a.py": set(), "b.py": {"a.py"}}


def test_a_merge_takes_visible_documents_and_what_hides_older_ones(view: ScipView) -> None:
    visible = [[header.path for header in headers] for _, headers in view.merge_sources()]
    assert visible == [["a.py"], ["b.py"]]
    assert [header.path for header in view.find_hiding_documents(range(1, 2))] == ["b.py", "gone.py"]
    assert list(view.find_hiding_documents(range(2))) == [], "nothing is older than the first file"


def test_a_view_without_files_is_empty() -> None:
    empty = ScipView([], {}.get)
    assert not empty
    assert empty.find_document("a.py") is None
    empty.close()
