"""`navigate.statement`: an import statement ends where its syntax ends, not where the brackets of the file balance."""

from __future__ import annotations

import pytest

from gitindex.navigate.statement import find_ending


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("from a import F\nx = g(\n    F,\n)\n", (1, 16)),
        ("from a import (  # (sic\n    F,\n    Q,\n)\nF()\n", (4, 2)),
        ("from a import F, \\\n    Q\nF(\n", (2, 6)),
        ("from a import F; F()\n", (1, 16)),
        ("import {\n  a,\n  b\n} from './x({';\nuse(a)\n", (4, 15)),
        ("import a,\n  { b } from 'x'\nb()\n", (2, 17)),
        ("if (x) { const F = require('f'); F() }\n", (1, 32)),
        ("run(require('f'))\n", (1, 17)),
        ("use a::{\n    b,\n    c::{d, e},\n};\n", (4, 2)),
        ('#include "f.h"\nint f(\n', (1, 15)),
    ],
)
def test_a_statement_ends_where_its_syntax_ends(text: str, ending: tuple[int, int]):
    assert find_ending(text.split("\n"), 1) == ending
