"""`extract.words._blank_non_letters`: what is left of text beyond ASCII."""

from __future__ import annotations

import pytest

from gitindex.extract.words import _blank_non_letters


@pytest.mark.parametrize(
    ("text", "left", "digits"),
    [
        ("plain_1", "plain_1", set()),
        ("Größe", "Größe", set()),
        ("a→b", "a   b", set()),  # a sign is as many blanks as it has bytes: offsets stay
        ("n٣m", "n  m", {"٣"}),  # a digit of another script
        ("x²y", "x²y", set()),  # no decimal digit, and alphanumeric
    ],
)
def test_only_letters_are_left_each_where_it_was(text: str, left: str, digits: set[str]):
    data, other_digits = _blank_non_letters(text.encode())
    assert (data.decode(), other_digits) == (left, digits)
    assert len(data) == len(text.encode())
