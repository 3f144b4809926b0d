"""The matching lines of a chunk, bounded. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gitindex.extract.tokens import subwords

MAX_LINE = 240


class Snippet(NamedTuple):
    text: str
    start_line: int
    end_line: int


def excerpt(text: str, first_line: int, terms: Iterable[str], max_lines: int) -> Snippet:
    """The window of at most `max_lines` lines that holds the most distinct terms, the earliest of equals."""
    lines = text.split("\n")
    wanted = set(terms)
    if len(lines) <= max_lines or not wanted:
        return _cut(lines[:max_lines], first_line)
    found = [wanted & set(subwords(line)) for line in lines]
    start = max(
        range(len(lines) - max_lines + 1), key=lambda at: (_score_window(found[at : at + max_lines]), -at)
    )
    return _cut(lines[start : start + max_lines], first_line + start)


def excerpt_around(text: str, first_line: int, line: int, max_lines: int) -> Snippet:
    """Lines around a line known to match."""
    lines = text.split("\n")
    at = line - first_line
    start = max(0, min(at - max_lines // 3, len(lines) - max_lines))
    return _cut(lines[start : start + max_lines], first_line + start)


def _score_window(rows: Sequence[set[str]]) -> float:
    """Distinct terms first; among windows with equally many, the denser."""
    distinct = set[str]().union(*rows)
    return len(distinct) + min(0.9, 0.01 * sum(map(len, rows)))


def _cut(lines: Sequence[str], first_line: int) -> Snippet:
    kept = [line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…" for line in lines]
    return Snippet("\n".join(kept), first_line, first_line + max(0, len(kept) - 1))
