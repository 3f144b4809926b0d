"""Chunks: exact ranges, full coverage, whole definitions, caps, determinism (SN-3, CF-1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gitindex.extract import grammars, tokens
from gitindex.extract.extractor import extract
from gitindex.extract.words import _split_with_arrays, terms_and_compounds
from gitindex.model.ids import chunk_hash
from gitindex.model.rows import Extraction
from gitindex.model.settings import IndexSettings, Limits
from tests.extract.facts import SAMPLES

SOURCES = [*SAMPLES, *sorted(Path(grammars.__file__).parent.glob("*.py"))]
SNIPPETS = r"""
def f(x):
    return x
class A:
# é
x = '😀' * 3
# Heading
---
a: 1
```
function f() {
""".splitlines(keepends=True)
SIGNS = ["\n", "\r\n", "\r", " ", "\t", "(", "{", "}", "w" * 90, "\0", "\f\n", "\u00a0\n", "\ufeff", '"""']
PIECES = st.sampled_from([*SNIPPETS, *SIGNS])
TEXTS = st.lists(PIECES | st.text(max_size=30), max_size=40).map("".join)
PATHS = st.sampled_from(
    ["a.py", "a.js", "a.md", "a.txt", "a.yaml", "a.json", "a.toml", "a.c", "a.sh", "unknown"]
)


def _check(data: bytes, found: Extraction, cap: int) -> None:
    anchor, *texts = found.chunks
    assert (anchor.kind, anchor.ordinal, anchor.byte_start, anchor.byte_end) == ("anchor", 0, 0, 0)
    assert [chunk.ordinal for chunk in found.chunks] == list(range(len(found.chunks)))
    assert len(found.chunks) <= cap
    at = 0
    for chunk in texts:
        assert chunk.kind == "text"
        assert data[chunk.byte_start : chunk.byte_end].decode() == chunk.text
        assert chunk.text.strip()
        assert chunk.byte_start >= at
        assert not data[at : chunk.byte_start].decode().strip().strip("\ufeff")
        assert chunk.start_line == data.count(b"\n", 0, chunk.byte_start) + 1
        assert chunk.end_line == data.count(b"\n", 0, chunk.byte_end) + 1
        at = chunk.byte_end
    if not found.truncated:
        assert not data[at:].decode().strip().strip("\ufeff")
    for chunk in found.chunks:
        assert chunk.chunk_hash == chunk_hash(chunk.text)
        assert chunk.terms.split() == tokens.subwords(chunk.text)
        assert chunk.idents.split() == tokens.compounds(chunk.text).split()


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(text=TEXTS, path=PATHS, size=st.integers(1, 200), cap=st.integers(1, 30))
def test_any_text_is_covered_once_in_order(text: str, path: str, size: int, cap: int) -> None:
    data = text.encode("utf-8", "replace")
    chosen = IndexSettings(chunk_chars=size, limits=Limits(chunks_per_file=cap))
    found = extract(path, data, chosen)
    _check(data, found, cap)
    assert extract(path, data, chosen) == found
    if not found.truncated:
        assert all(len(chunk.text) <= size * 1.5 + 1 for chunk in found.chunks[1:])


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
@pytest.mark.parametrize("size", [120, 750])
def test_real_files(source: Path, size: int) -> None:
    data = source.read_bytes()
    found = extract(source.name, data, IndexSettings(chunk_chars=size))
    _check(data, found, 2000)
    assert len(found.chunks[0].text) <= size


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_small_definitions_stay_whole(source: Path) -> None:
    """A definition up to one and a half times the target lies in one chunk."""
    data = source.read_bytes()
    found = extract(source.name, data, IndexSettings(chunk_chars=300))
    spans = [(chunk.byte_start, chunk.byte_end) for chunk in found.chunks[1:]]
    for symbol in found.symbols:
        if symbol.kind in ("heading", "key") or symbol.byte_end - symbol.byte_start > 300:
            continue
        assert any(start <= symbol.byte_start and symbol.byte_end <= end for start, end in spans), symbol


def test_comments_and_decorators_stay_with_their_definition() -> None:
    filler = "".join(f"def f{n}():\n    return {n} * {'n' * 60}\n\n\n" for n in range(8))
    text = (
        filler
        + "# Why this exists.\n@decorated\n@twice(\n    1,\n)\ndef wanted():\n    return 1\n\n\n"
        + filler
    )
    found = extract("a.py", text.encode(), IndexSettings(chunk_chars=200))
    chunk = next(chunk for chunk in found.chunks if "wanted" in chunk.names.split())
    assert "# Why this exists.\n@decorated\n@twice(\n    1,\n)\ndef wanted():" in chunk.text


def test_labels_name_the_first_definition_or_the_one_around() -> None:
    body = "".join(f"    value_{n} = compute({n})\n\n" for n in range(60))
    text = f"class Big:\n    x = 1\n\n    def long(self):\n{body.replace('    ', '        ')}\n\ndef tail():\n    pass\n"
    found = extract("a.py", text.encode(), IndexSettings(chunk_chars=300))
    texts = found.chunks[1:]
    assert (texts[0].symbol, texts[0].symbol_kind) == ("Big", "class")
    assert {chunk.symbol for chunk in texts[2:-1]} == {"Big.long"}
    assert texts[-1].names == "tail"


def test_small_neighbours_share_a_chunk() -> None:
    text = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(40))
    found = extract("a.py", text.encode(), IndexSettings())
    assert len(found.chunks) == 3
    assert len(found.chunks[1].names.split()) > 10


def test_one_long_line_is_cut_at_code_points() -> None:
    data = ("é😀x" * 2000).encode()
    found = extract("a.txt", data, IndexSettings())
    assert "".join(chunk.text for chunk in found.chunks[1:]) == data.decode()
    assert {len(chunk.text) for chunk in found.chunks[1:-1]} == {750}
    assert {(chunk.start_line, chunk.end_line) for chunk in found.chunks} == {(1, 1)}


def test_the_cap_cuts_and_says_so() -> None:
    data = b"".join(b"line %d %s\n" % (n, b"w" * 100) for n in range(200))
    found = extract("a.txt", data, IndexSettings(limits=Limits(chunks_per_file=5)))
    assert (len(found.chunks), found.truncated) == (5, True)
    assert not extract("a.txt", data, IndexSettings()).truncated


def test_an_empty_file_has_only_its_anchor() -> None:
    for path in ("a.py", "a.md", "a.txt", "a.json"):
        found = extract(path, b"", IndexSettings())
        assert [chunk.text for chunk in found.chunks] == [""]
        assert found.lines == 0


def test_the_anchor_holds_no_path() -> None:
    found = extract("very_special_path.py", b'"""What it is."""\n\ndef f(a): ...\n', IndexSettings())
    assert found.chunks[0].text == "What it is.\ndef f(a)"


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.text() | st.text("aBC_12 .", max_size=200) | st.text("aB1é\u0130Σσ’٣²ก_", max_size=60), max_size=8
    )
)
@example(["x" * 41, "1" * 50 + "a", "_9a 9_a", "HTTPServer2xÉtat ÉtatHTTPServer", "ab٣cd", "\ud800a"])
@example(["É_" * 30, "é_É ÉÉ_x É_É", "Ⱥ_b \u212a_b ΑΣ_ΑΣ ΌΣΟΣ", "Ж1Ы_" + "ж" * 39])
def test_words_of_many_texts_are_those_of_tokens(texts: list[str]) -> None:
    for found in (
        terms_and_compounds(texts),
        _split_with_arrays(texts),
    ):  # compiled where that is to be had, and not
        for text, (terms, idents) in zip(texts, found, strict=True):
            assert terms.split() == tokens.subwords(text)
            assert idents.split() == tokens.compounds(text).split()
