"""Columns in three encodings, four line rules, byte order marks: an oracle in plain Python agrees (SE-7)."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.scip.placement import TextBatch
from gitindex.scip.positions import PositionedText, PositionRules
from gitindex.scip.ranges import Ranges, decode_all
from gitindex.scip.schema import UTF8, UTF16, UTF32
from tests.scip import writer

texts = st.text(st.sampled_from("ab é漢😀\r\n\u2028\u2029\x0b\x85"), max_size=40)
rules = st.builds(PositionRules, st.sampled_from([UTF8, UTF16, UTF32]), st.booleans(), st.booleans())
UNITS = {
    UTF8: lambda s: len(s.encode()),
    UTF16: lambda s: len(s.encode("utf-16-le")) // 2,
    UTF32: len,
}


def tool_lines(text: str, rule: PositionRules) -> list[tuple[int, str]]:
    """(index of first character, line) by the tool's rule."""
    pattern = "\r\n|\r|\n" + ("|\u2028|\u2029" if rule.unicode_breaks else "")
    out, offset = [], 0
    for match in re.finditer(pattern, text):
        out.append((offset, text[offset : match.start()]))
        offset = match.end()
    return [*out, (offset, text[offset:])]


def our_place(text: str, index: int) -> tuple[int, int]:
    before = text[:index]
    line_start = before.rfind("\n") + 1
    column = index - line_start + 1
    if line_start == 0 and text.startswith("\ufeff") and index > 0:
        column -= 1
    return before.count("\n") + 1, column


@settings(max_examples=300, deadline=None)
@given(texts, rules, st.booleans(), st.data())
def test_any_position_of_any_text(text, rule, bom, data):
    text = ("\ufeff" if bom else "") + text
    lines = tool_lines(text, rule)
    row = data.draw(st.integers(0, len(lines) - 1))
    start, line = lines[row]
    if row == 0 and bom and not rule.bom_is_column:
        start, line = start + 1, line[1:]
    left = data.draw(st.integers(0, len(line)))
    right = data.draw(st.integers(left, len(line)))
    units = UNITS[rule.encoding]
    span = (row, units(line[:left]), row, units(line[:right]))
    placed = TextBatch([(b"x\n", rule), (text.encode(), rule)]).place_ranges(
        Ranges(*(np.array([part]) for part in span)), np.array([1])
    )
    assert placed.in_text[0]
    placed_text = (b"x\n\n" + text.encode())[placed.start[0] : placed.end[0]].decode()
    assert placed_text == line[left:right]
    assert (placed.line[0], placed.column[0]) == our_place(text, start + left)
    assert (placed.end_line[0], placed.end_column[0]) == our_place(text, start + right)


def test_outside_the_text_is_not_good():
    source = TextBatch([("aé\nbb\n".encode(), PositionRules(UTF16))])
    spans = [(0, 0, 0, 3), (1, 0, 1, 3), (3, 0, 3, 0), (-1, 0, 0, 1), (1, 2, 1, 1), (0, 0, 0, 2)]
    placed = source.place_ranges(Ranges(*np.array(spans).T), np.zeros(len(spans), np.int64))
    assert placed.in_text.tolist() == [False, False, False, False, False, True]
    assert PositionedText(b"ab", PositionRules(UTF8)).offset_of(0, 3) is None


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(st.tuples(*[st.integers(0, 70000)] * 3), st.tuples(*[st.integers(0, 70000)] * 4)),
        max_size=8,
    )
)
def test_both_encodings_of_a_range_say_the_same(spans):
    expected = [span if len(span) == 4 else (span[0], span[1], span[0], span[2]) for span in spans]
    raw = [schema_raw(writer.occurrence("s", span)) for span in spans]
    typed = [schema_raw(writer.occurrence("s", span, typed=True)) for span in spans]
    for messages in (raw, typed):
        columns = [
            [getattr(o, n) for o in messages] for n in ("range", "single_line_range", "multi_line_range")
        ]
        assert list(zip(*(part.tolist() for part in decode_all(*columns)), strict=True)) == expected


def test_the_typed_range_wins():
    both = writer.occurrence("s", (1, 2, 3))
    both.single_line_range.line = 9
    both.single_line_range.start = 8
    both.single_line_range.end = 10
    message = schema_raw(both)
    decoded = decode_all([message.range], [message.single_line_range], [message.multi_line_range])
    assert [int(part[0]) for part in decoded] == [9, 8, 9, 10]


def test_ranges_of_the_wrong_length_are_bad():
    raw = [schema_raw(writer.occurrence("s", span)) for span in [(1, 2), (1, 2, 3, 4, 5), (4, 5, 6)]]
    decoded = decode_all([o.range for o in raw], [b""] * 3, [b""] * 3)
    assert decoded.line.tolist() == [-1, -1, 4]


def schema_raw(message):
    from gitindex.scip import schema

    return schema.raw_messages().Occurrence.FromString(message.SerializeToString())
