"""Where the import statement that starts on a line ends, read from its text.

Reads lexemes of all languages at once: strings and comments hide brackets, an open bracket, a backslash or a trailing
comma carries the statement on to the next line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MAX_LINES = 400  # of one statement
_KEYWORD = re.compile(r"\b(?:import|from|export|use|using|require\w*|include\w*|autoload|load|source)\b")
_LEXEME = re.compile(
    r"""(?P<hidden>//[^\n]*|/\*.*?\*/|\#[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
    r"""|(?P<carry>\\\r?\n|,[ \t\r]*\n)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>[;\n])""",
    re.S,
)


class Ending(NamedTuple):
    """The first place after a statement; line and column count from 1."""

    line: int
    column: int


def find_ending(lines: list[str], first: int) -> Ending:
    """The end of the import statement on line `first`; a bracket that was open before it ends it too."""
    text = "\n".join(lines[first - 1 : first - 1 + _MAX_LINES]) + "\n"
    keyword = _KEYWORD.search(lines[first - 1]) if first <= len(lines) else None
    depth = 0
    for match in _LEXEME.finditer(text, keyword.start() if keyword else 0):
        if match.lastgroup == "open":
            depth += 1
        elif match.lastgroup == "close":
            depth -= 1
        if depth < 0 or (depth == 0 and match.lastgroup == "end"):
            return _make_ending(text, match.start(), first)
    return _make_ending(text, len(text) - 1, first)


def _make_ending(text: str, offset: int, first: int) -> Ending:
    return Ending(first + text.count("\n", 0, offset), offset - text.rfind("\n", 0, offset))
