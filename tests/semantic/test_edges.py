"""SE-8: call edges are call sites ∩ exact references, seen from the innermost definition around them."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gitindex.scip.symbol_grammar import hash64
from gitindex.semantic.edges import FILE_LEVEL, Body, _find_innermost, find_call_edges
from tests.scip import writer
from tests.semantic.test_decode import decode

P = "scip-python python demo _ "
SOURCE = """def f():
    pass
class C:
    def m(self):
        f()
        g = wrong()
f()
"""


def h(descriptors: str) -> int:
    return hash64((P + descriptors).encode())


def test_edges_of_a_module(tmp_path: Path):
    occurrences = [
        writer.occurrence(P + "`m`/f().", (0, 4, 5), 1, enclosing=(0, 0, 1, 8)),
        writer.occurrence(P + "`m`/C#", (2, 6, 7), 1, enclosing=(2, 0, 5, 19)),
        writer.occurrence(P + "`m`/C#m().", (3, 8, 9), 1, enclosing=(3, 4, 5, 19)),
        writer.occurrence(P + "`m`/f().", (4, 8, 9), 8),
        writer.occurrence(P + "`m`/f().", (5, 12, 17), 8),  # the text says `wrong`
        writer.occurrence("local 1", (5, 8, 9), 1),
        writer.occurrence(P + "`m`/f().", (6, 0, 1), 8),
    ]
    data = writer.index(writer.document("m.py", occurrences), tool="scip-python")
    _, documents = decode(tmp_path, data, {"m.py": SOURCE})
    calls = [
        (SOURCE[: match.start()].count("\n") + 1, match.start() - SOURCE.rfind("\n", 0, match.start()))
        for match in re.finditer(r"\w+(?=\(\))", SOURCE)
    ]
    assert find_call_edges(documents["m.py"], calls) == [
        (h("`m`/C#m()."), h("`m`/f()."), 5, 9),
        (FILE_LEVEL, h("`m`/f()."), 7, 1),
    ]


@st.composite
def nested(draw, low: int = 0, high: int = 40):
    """Properly nested bodies on one line."""
    out = []
    for _ in range(draw(st.integers(0, 3))):
        if high - low < 2:
            break
        start = draw(st.integers(low, high - 1))
        end = draw(st.integers(start + 1, high))
        out.append(((1, start), (1, end)))
        out += draw(nested(start, end)) if end - start > 2 else []
        low = end
    return out


@given(nested(), st.lists(st.integers(0, 40).map(lambda column: (1, column)), max_size=10))
def test_the_innermost_body_by_trying_all(bodies, places):
    bodies = sorted(set(bodies), key=lambda body: (body[0], -body[1][1]))
    numbered = [Body(start, end, number + 1) for number, (start, end) in enumerate(bodies)]
    innermost = _find_innermost(numbered, sorted(set(places)))
    for place in places:
        around = [(end[1] - start[1], n) for start, end, n in numbered if start <= place < end]
        assert innermost[place] == (min(around)[1] if around else FILE_LEVEL)
