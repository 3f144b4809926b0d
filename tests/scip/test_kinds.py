"""The kind of a symbol: SCIP's number first, then its last descriptor and the parent of that."""

from __future__ import annotations

import pytest

from gitindex.scip.kinds import kind_of
from gitindex.scip.symbol_grammar import parse_last_descriptor

P = b"scip-python python demo _ "
CLASS, NONE = 7, 0


@pytest.mark.parametrize(
    ("number", "descriptors", "kind"),
    [
        (CLASS, b"`m`/f().", "class"),
        (NONE, b"`m`/C#", "class"),
        (NONE, b"`m`/", "module"),
        (NONE, b"`m`/f().", "function"),
        (NONE, b"`m`/C#f().", "method"),
        (NONE, b"`m`/x.", "variable"),
        (NONE, b"`m`/C#x.", "field"),
        (NONE, b"`m`/C#f().(x)", "parameter"),
        (NONE, b"`m`/C#[T]", "type"),
    ],
)
def test_kinds(number, descriptors, kind):
    symbol = P + descriptors
    assert kind_of(number, symbol, parse_last_descriptor(symbol)) == kind


def test_a_local_is_a_variable_unless_the_number_says_otherwise():
    assert kind_of(NONE, b"local 1", None) == "variable"
    assert kind_of(CLASS, b"local 1", None) == "class"
