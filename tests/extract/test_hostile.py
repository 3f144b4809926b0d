"""Hostile input ends soon, raises nothing and keeps the text searchable."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitindex.extract.extractor import extract
from gitindex.indexing.extractionpool import extract_file
from gitindex.model.settings import IndexSettings

SUFFIXES = [
    "py",
    "js",
    "ts",
    "tsx",
    "go",
    "java",
    "rs",
    "c",
    "cpp",
    "cs",
    "rb",
    "php",
    "kt",
    "swift",
    "scala",
    "lua",
]
SUFFIXES += ["sh", "md", "toml", "yaml", "json", "txt", "none"]
HOSTILE = {
    "open parentheses": b"(" * 100_000,
    "open brackets": b"[" * 100_000,
    "open braces": b"{" * 100_000,
    "balanced": b"[" * 50_000 + b"]" * 50_000,
    "zeros": b"\0" * 10_000,
    "not utf-8": bytes(range(256)) * 40,
    "deep blocks": b"".join(b" " * n + b"if x:\n" for n in range(300)),
    "headings": b"# x\n" * 20_000,
    "fence": b"```\n# x\n" * 5_000,
    "front matter": b"---\n" + b"a: [" * 3_000 + b"\n---\n",
}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_hostile_bytes(suffix: str) -> None:
    for name, data in HOSTILE.items():
        found = extract_file(f"a.{suffix}", data, IndexSettings())
        assert found.chunks, name
        assert len(found.chunks) <= 2000


def test_a_megabyte_in_one_line() -> None:
    data = b"x = [" + b"1, " * 350_000 + b"]\n"
    found = extract("a.py", data, IndexSettings())
    assert [symbol.name for symbol in found.symbols] == ["x"]
    assert len(found.chunks) > 1000
    assert not found.parse_error


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=400), st.sampled_from(SUFFIXES))
def test_no_bytes_raise(data: bytes, suffix: str) -> None:
    extract(f"a.{suffix}", data, IndexSettings())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_torn_sources(suffix: str) -> None:
    """Pieces of every language in any order, as a bad merge leaves them."""
    chance = random.Random(7)
    words = (
        b"def class fn func ( ) { } [ ] : ; , . = x y foo \" ' ` < > # // /* */ @ $ -> => end \n \n \n".split(
            b" "
        )
    )
    for _ in range(10):
        data = b" ".join(chance.choices(words, k=300))
        assert extract(f"a.{suffix}", data, IndexSettings()) == extract(f"b.{suffix}", data, IndexSettings())


def test_a_quadratic_parse_is_given_up() -> None:
    """EL-8: 100 kB of quotes keep this grammar busy for minutes."""
    found = extract_file("a.js", b"'" * 100_000, IndexSettings())
    assert found.text_only == "time"
    assert found.parse_error
    assert not found.symbols
    assert len(found.chunks) > 100


def test_keys_are_capped() -> None:
    data = ("{" + ",\n".join(f'"k{n}": {n}' for n in range(2_000)) + "}").encode()
    found = extract("a.json", data, IndexSettings())
    assert len(found.symbols) == 500
    assert not found.truncated


@pytest.mark.parametrize(
    ("path", "data"),
    [("a.js", b"a" + b".b()" * 50_000), ("a.py", b"x()\r" * 100_000)],
    ids=("chain", "broken"),
)
def test_a_tree_deeper_than_queries_count_keeps_its_text(path: str, data: bytes) -> None:
    """EL-1: a query would take minutes, and nothing can stop it."""
    found = extract(path, data, IndexSettings())
    assert found.parse_error
    assert not found.calls
    assert found.chunks
