"""One gitignore pattern as a regular expression (EL-5); `test_ignore` compares whole rule files with git."""

from __future__ import annotations

import time

import pytest

from gitindex.files.glob import MalformedPattern, compile_glob, is_literal


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (b"*.py", [b"a.py", b".py"], [b"a.pyc", b"d/a.py"]),
        (b"a?c", [b"abc"], [b"a/c", b"ac"]),
        (b"a/**/b", [b"a/b", b"a/x/b", b"a/x/y/b"], [b"a/xb", b"ab"]),
        (b"**/b", [b"b", b"x/y/b"], [b"xb"]),
        (b"a/**", [b"a/x", b"a/x/y"], [b"a", b"b/x"]),
        (b"[a-c]x", [b"ax", b"cx"], [b"dx", b"-x"]),
        (b"[!a-c]x", [b"dx"], [b"ax", b"/x"]),
        (b"[]-]", [b"]", b"-"], [b"a"]),
        (b"[[:digit:]]", [b"7"], [b"d", b":"]),
        (rb"\*", [b"*"], [b"a"]),
    ],
)
def test_patterns(pattern: bytes, matching: list[bytes], other: list[bytes]):
    expression = compile_glob(pattern)
    assert [text for text in matching if not expression.match(text)] == []
    assert [text for text in other if expression.match(text)] == []


@pytest.mark.parametrize("pattern", [b"[a", b"[[:nothing:]]", b"a\\", b"["])
def test_malformed_patterns(pattern: bytes):
    with pytest.raises(MalformedPattern):
        compile_glob(pattern)


def test_a_literal_has_no_special_byte():
    assert is_literal(b"a/b.py")
    assert not any(map(is_literal, (b"*a", b"a?", b"[a]", rb"a\b")))


def test_many_stars_take_no_exponential_time():
    start = time.process_time()
    assert compile_glob(b"*a" * 30 + b"b").match(b"a" * 2000) is None
    assert compile_glob(b"**/a/" * 12 + b"b").match(b"a/" * 500) is None
    assert time.process_time() - start < 5
