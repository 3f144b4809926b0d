"""Merging scip files: visible documents as stored, symbol tables anew (SE-7)."""

from __future__ import annotations

from pathlib import Path

from gitindex.segment import scipmerge
from gitindex.segment.scipfacts import DocumentHeader, ScipFacts
from tests.segment.scipfiles import Document, symbol, symbol_hash, write_scip

OLD = [Document("a.py", defines=("alpha",)), Document("b.py", reads=("alpha", "beta"))]
NEW = [Document("b.py", reads=("alpha", "gamma"), blob="new", relationships=[(1, 2, 4)])]


def headers(facts: ScipFacts) -> dict[str, DocumentHeader]:
    return {header.path: header for header in facts.documents()}


def merge(folder: Path) -> tuple[ScipFacts, tuple[int, int], ScipFacts]:
    """The merged file, what `merge` returned, and the newer source."""
    old = ScipFacts(write_scip(folder / "old.sqlite", OLD, hovers=[(symbol_hash("alpha"), b"text")]))
    new = ScipFacts(write_scip(folder / "new.sqlite", NEW, tombstones=["gone.py"]))
    sources = [(old, [headers(old)["a.py"]]), (new, [headers(new)["b.py"]])]
    returned = scipmerge.merge(folder / "merged.sqlite", "seg", sources, [headers(new)["gone.py"]])
    return ScipFacts(folder / "merged.sqlite"), returned, new


def test_documents_are_copied_and_tombstones_stay(tmp_path: Path) -> None:
    merged, returned, new = merge(tmp_path)
    assert returned == (3, 2 + 3), "documents, and occurrences with locals"
    assert {path: header.blob for path, header in headers(merged).items()} == {
        "a.py": "blob",
        "b.py": "new",
        "gone.py": "",
    }
    copied, original = headers(merged)["b.py"], headers(new)["b.py"]
    assert copied.digest == original.digest
    assert merged.read_packed(copied) == new.read_packed(original)
    assert merged.find_links(2) == [(1, copied.file, 4)]


def test_postings_are_those_of_the_merged_documents(tmp_path: Path) -> None:
    merged, _, _ = merge(tmp_path)
    paths = {header.file: header.path for header in merged.documents()}
    alpha = [(paths[posting.file], posting.line) for posting in merged.postings(symbol_hash("alpha"))]
    assert alpha == [("a.py", 1), ("b.py", 1)]
    assert [paths[posting.file] for posting in merged.postings(symbol_hash("gamma"))] == ["b.py"]
    assert merged.name(symbol_hash("gamma")) == symbol("gamma")
    assert merged.find_by_short_name(b"alpha") == [symbol("alpha")]
    assert merged.name(symbol_hash("beta")) is None, "only the replaced document used it"
    assert merged.external_hover(symbol_hash("alpha")) == b"text"
