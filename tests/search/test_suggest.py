"""`search.suggest`: what an answer says about itself (QU-7)."""

from __future__ import annotations

import pytest

from gitindex.search import suggest
from gitindex.search.hit import SearchAnswer
from gitindex.search.lexical import MAX_TERMS
from gitindex.search.parse import parse
from gitindex.search.request import LONG_QUERY_CHARS, Request


@pytest.mark.parametrize(("length", "remarks"), [(LONG_QUERY_CHARS, 0), (LONG_QUERY_CHARS + 1, 1)])
def test_a_text_that_was_shortened_says_so(length: int, remarks: int):
    answer = suggest.add_length_remark(Request("w" * length), SearchAnswer(()))
    assert len(answer.notes) == remarks
    assert all(f"{length:,} characters" in note and str(MAX_TERMS) in note for note in answer.notes)


def test_a_phrase_that_nothing_has_is_named():
    answer = suggest.add_relaxed_remark(parse('"no such phrase" word'), SearchAnswer((), notes=("first",)))
    assert answer.relaxed
    assert answer.notes == (
        'nothing has the phrase "no such phrase": its words were searched one by one',
        "first",
    )
