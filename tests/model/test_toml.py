"""Untrusted TOML is read within limits (CF-5)."""

from __future__ import annotations

import pytest

from gitindex.model.toml import MAX_BITS, MAX_DEPTH, MAX_KEY, loads


def test_ordinary_text_is_read():
    assert loads('a = [1, [2]]\n[b.c]\nd = "x"\n') == {"a": [1, [2]], "b": {"c": {"d": "x"}}}


@pytest.mark.parametrize("quoted", ['"{}"', "'{}'", '"""{}"""', "'''{}'''"])
def test_brackets_in_strings_and_comments_do_not_nest(quoted: str):
    text = "[" * (MAX_DEPTH + 1) + "." * (MAX_DEPTH + 1)
    assert loads(f"a = {quoted.format(text)} # {text}\n") == {"a": text}


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        ".".join("a" * (MAX_DEPTH + 2)) + " = 1",
        "[" + ".".join("a" * 20) + "]\n" + ".".join("b" * 20) + " = 1",
        "a" * (MAX_KEY + 1) + " = 1",
        f"a = {1 << MAX_BITS}",
        "a = ",
    ],
    ids=["arrays", "parts of a key", "header and key", "long key", "number", "syntax"],
)
def test_what_exceeds_a_limit_is_refused(text: str):
    with pytest.raises(ValueError, match=r"\w"):
        loads(text)


def test_the_limits_themselves_are_allowed():
    loads("a" * MAX_KEY + " = 1")
    loads(f"a = {(1 << MAX_BITS) - 1}")
    loads("a = " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1))
