"""Symbols, imports, calls and identifiers of one small source per language, against reviewed golden files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitindex.extract import grammars
from gitindex.extract.extractor import extract
from gitindex.extract.identifiers import group_captured
from gitindex.extract.source_text import SourceText
from gitindex.model import postings
from gitindex.model.rows import SYMBOL_KINDS, ExtractedSymbol
from gitindex.model.settings import IndexSettings
from tests.extract.facts import SAMPLES, golden, sample_facts

SETTINGS = IndexSettings()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_golden(sample: Path) -> None:
    assert golden(sample).exists(), f"review what `python -m tests.extract.facts` writes for {sample.name}"
    assert sample_facts(sample) == golden(sample).read_text().splitlines()


def test_every_kind_is_a_known_one() -> None:
    """A filter for any other kind is told to be a mistake."""
    queries = Path(grammars.__file__).parent.glob("languages/*.scm")
    named = {kind for query in queries for kind in re.findall(r"@def\.(\w+)", query.read_text("utf-8"))}
    made = {
        symbol.kind for path in SAMPLES for symbol in extract(path.name, path.read_bytes(), SETTINGS).symbols
    }
    assert named
    assert named | made <= set(SYMBOL_KINDS)


def test_every_language_has_a_sample() -> None:
    seen = {extract(path.name, path.read_bytes(), SETTINGS).language for path in SAMPLES}
    known = {*grammars.SPECS, *grammars.DATA_LANGUAGES, "markdown", "yaml"}
    assert known - seen == set(), "tests/extract/samples has no file of it"
    assert seen - known == set(), "extract/grammars.py SPECS does not have it"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_ranges_of_symbols_hold_their_names(sample: Path) -> None:
    data = sample.read_bytes()
    rows = data.decode().split("\n")
    for symbol in extract(sample.name, data, SETTINGS).symbols:
        inside = data[symbol.byte_start : symbol.byte_end].decode()
        assert symbol.name in inside or symbol.kind == "key"
        if symbol.kind not in ("heading", "key"):
            assert rows[symbol.line - 1][symbol.column - 1 :].startswith(symbol.name)


def _positions(text: bytes, path: str, name: str) -> list[tuple[int, int]]:
    found = extract(path, text, SETTINGS).identifiers
    return [place for known, packed in found if known == name for place in postings.unpack(packed)]


def _leaves(tree_root: object) -> Iterator[object]:
    stack = [tree_root]
    while stack:
        node = stack.pop()
        if node.child_count == 0:  # type: ignore[attr-defined]
            yield node
        stack.extend(node.children)  # type: ignore[attr-defined]


PYTHON_CORNERS = '''
from typing import List as L
async def f(a, *args, b: int = 0x1F, **kw) -> "L[int]":
    match a:
        case {"x": y, **rest} if y: print(f"{a!r:>{b}} {kw['k']} {{no}} text", rb"raw", 1_000j, 1e5)
        case _ as other: type = 3; match = case = type
    global z; nonlocal_ = lambda q, /: (yield q)
    type Alias[T] = dict[str, T]
    return [é for é in args if not None is True]  # comment words
exec = print = 0xdeadBEEF
r"""doc {a}"""; f"""{f'{nested}'} {x=}"""
'''.encode()


def test_python_identifiers_are_those_of_the_syntax_tree() -> None:
    """Painting literals over gives what walking the tree gives."""
    tree = grammars.parse("python", PYTHON_CORNERS)
    assert tree is not None
    nodes = [node for node in _leaves(tree.root_node) if node.type == "identifier"]  # type: ignore[attr-defined]
    expected = group_captured(SourceText(PYTHON_CORNERS), nodes)  # type: ignore[arg-type]
    assert extract("a.py", PYTHON_CORNERS, SETTINGS).identifiers == expected
    assert {"nested", "kw", "match", "é", "Alias"} <= {name for name, _ in expected}


def test_own_source_identifiers_are_those_of_the_syntax_tree() -> None:
    for path in sorted(Path(grammars.__file__).parent.glob("*.py")):
        data = path.read_bytes()
        tree = grammars.parse("python", data)
        assert tree is not None
        nodes = [node for node in _leaves(tree.root_node) if node.type == "identifier"]  # type: ignore[attr-defined]
        assert extract("a.py", data, SETTINGS).identifiers == group_captured(SourceText(data), nodes)  # type: ignore[arg-type]


def test_identifier_positions_are_packed_as_postings_packs_them() -> None:
    """Narrow, wide and very wide deltas and columns all unpack to where the name stands."""
    text = b"x\n" + b"\n" * 300 + b"x" + b" " * 200 + b"; x\n" + b"\n" * 20_000 + b"y; x\n"
    assert _positions(text, "a.py", "x") == [(1, 1), (302, 1), (302, 204), (20_303, 4)]
    for _, packed in extract("a.py", text, SETTINGS).identifiers:
        assert postings.pack(postings.unpack(packed)) == packed


def test_columns_count_code_points() -> None:
    text = "größe = 'ä😀'; größe.länge(x)\n".encode()
    found = extract("a.py", text, SETTINGS)
    assert [(c.callee, c.column) for c in found.calls] == [("länge", 21)]
    assert _positions(text, "a.py", "größe") == [(1, 1), (1, 15)]
    assert _positions(text, "a.py", "x") == [(1, 27)]
    assert found.symbols[0].end_column == 13


def _symbols(path: str, text: bytes) -> tuple[ExtractedSymbol, ...]:
    return extract(path, text, SETTINGS).symbols


def test_byte_order_mark_is_outside_the_columns_but_inside_the_offsets() -> None:
    text = b"\xef\xbb\xbfdef f():\n    g()\n"
    found = extract("a.py", text, SETTINGS)
    assert (found.symbols[0].line, found.symbols[0].column) == (1, 5)
    assert text[found.symbols[0].byte_start : found.symbols[0].byte_end] == b"def f():\n    g()"
    assert text[found.chunks[1].byte_start : found.chunks[1].byte_end].decode() == found.chunks[1].text
    assert not found.parse_error


def test_crlf_counts_lines_once() -> None:
    unix = b"class A:\n    def f(self):\n        return 1\n\nx = A()\n"
    dos = unix.replace(b"\n", b"\r\n")
    a, b = extract("a.py", unix, SETTINGS), extract("a.py", dos, SETTINGS)
    assert [(s.qualified_name, s.line, s.column, s.end_line) for s in a.symbols] == [
        (s.qualified_name, s.line, s.column, s.end_line) for s in b.symbols
    ]
    assert a.lines == b.lines == 5
    assert a.interface_hash == b.interface_hash


def test_lone_carriage_return_is_no_line_end() -> None:
    found = extract("a.txt", b"one\rtwo\nthree", SETTINGS)
    assert found.lines == 2
    assert found.chunks[1].text == "one\rtwo\nthree"


def test_a_parse_error_keeps_what_parses() -> None:
    text = b"def good(a):\n    return a\n\nx = = 3 )\n\nclass Fine:\n    def m(self):\n        pass\n"
    found = extract("a.py", text, SETTINGS)
    assert found.parse_error
    assert {"good", "Fine", "Fine.m"} <= {symbol.qualified_name for symbol in found.symbols}


def test_a_rename_changes_nothing() -> None:
    """SN-3: the path matters only for the language it names."""
    for sample in SAMPLES:
        data = sample.read_bytes()
        assert extract(sample.name, data, SETTINGS) == extract(
            f"deep/er/other{sample.suffix}", data, SETTINGS
        )


def test_shebang_names_the_language() -> None:
    assert extract("run", b"#!/usr/bin/env python3\ndef f(): pass\n", SETTINGS).language == "python"
