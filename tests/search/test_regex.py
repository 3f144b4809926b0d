"""`search.regex`: what a pattern certainly needs, and which lines match it."""

from __future__ import annotations

import pytest

from gitindex.errors import UsageError
from gitindex.search import regex
from gitindex.search.candidate import RetrievedChunk


def chunk(text: str, start: int = 1, ordinal: int = 1) -> RetrievedChunk:
    lines = text.count("\n")
    return RetrievedChunk("a.py", ordinal, "text", "python", start, start + lines, "", "", text)


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        ("parse_header", [".*parse_header.*"]),
        ("parse.*header", [".*header.*", ".*parse.*"]),
        ("(parse)+_x", [".*parse.*"]),
        ("(parse)?", []),
        ("parse|read", []),
        ("ab", []),
        ("(?<name", []),
    ],
)
def test_narrowing_names_only_what_every_match_contains(pattern: str, pieces: list[str]):
    assert regex.derive_index_patterns(pattern) == pieces


def test_lines_are_numbered_as_in_the_file():
    found = regex.verify(r"^def \w+", [chunk("x\r\ndef a():\r\n", start=10), chunk("y", ordinal=2)])
    assert [(match.chunk.ordinal, match.lines) for match in found] == [(1, (11,))]


def test_pieces_of_one_long_line_are_one_again():
    pieces = [chunk("one needle in ", 5, 1), chunk("a long line", 5, 2), chunk("next", 6, 3)]
    assert [item.text for item in regex.join_long_lines(pieces)] == ["one needle in a long line", "next"]
    assert [match.lines for match in regex.verify("in a long", regex.join_long_lines(pieces))] == [(5,)]


def test_what_re2_lacks_is_a_named_error():
    with pytest.raises(UsageError, match="bad pattern"):
        regex.check(r"(?=ahead)")
