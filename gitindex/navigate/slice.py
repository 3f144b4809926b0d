"""Def-use slice of a variable in one file: what its value at a line depends on, and what depends on it (QU-3).

Flow is approximated by source order: a write is seen by later reads until another write of the same block stands
between; a loop also carries writes back to its start. So a slice may hold a statement too many, rarely one too few.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitindex.extract import file_limits, sandbox
from gitindex.navigate.dataflow import Statement, statements

BACKWARD = "backward"
FORWARD = "forward"
BOTH = "both"


def slice_lines(language: str, text: str, line: int, name: str, direction: str) -> dict[str, Any] | None:
    """The slice as values; None when the language has no grammar. An unknown name gives no lines.

    Raises SandboxDied when the file takes more time or memory than a file may (EL-8).
    """
    with sandbox.borrowed() as box:
        [found] = box.stream(__name__, "compute", language, text, line, name, direction)
    return found  # type: ignore[no-any-return]


def compute(
    language: str, text: str, line: int, name: str, direction: str
) -> Iterator[dict[str, Any] | None]:
    """`slice_lines` where it may end its process: in a sandbox."""
    with file_limits.enforced(len(text)):
        yield _compute(language, text, line, name, direction)


def _compute(language: str, text: str, line: int, name: str, direction: str) -> dict[str, Any] | None:
    found = statements(language, text.encode("utf-8", "surrogatepass"), line)
    if found is None:
        return None
    start = _start(found, line, name)
    marks: dict[int, set[str]] = {}
    if start is not None:
        marks[start] = {"criterion"}
        if direction in (BACKWARD, BOTH):
            _backward(found, start, name, marks)
        if direction in (FORWARD, BOTH):
            _forward(found, start, name, marks)
    lines = text.split("\n")
    return {
        "name": name,
        "line": line,
        "direction": direction,
        "precision": "syntactic",
        "lines": [_json(found[at], roles, lines) for at, roles in sorted(marks.items())],
    }


def _start(found: list[Statement], line: int, name: str) -> int | None:
    """The innermost statement at the line that mentions the name."""
    around = [
        at
        for at, item in enumerate(found)
        if item.line <= line <= item.end_line and name in item.reads | item.writes
    ]
    return max(around, key=lambda at: (found[at].line, at), default=None)


def _backward(found: list[Statement], start: int, name: str, marks: dict[int, set[str]]) -> None:
    first = {name} if name in found[start].reads else set()
    first |= set(found[start].reads) if name in found[start].writes else set()
    waiting = [(start, wanted) for wanted in sorted(first)]
    seen = set(waiting)
    _controls(found, start, marks, waiting, seen)
    while waiting:
        at, wanted = waiting.pop()
        for source in _writers(found, at, wanted):
            marks.setdefault(source, set()).add("definition")
            for needed in sorted(found[source].reads):
                if (source, needed) not in seen:
                    seen.add((source, needed))
                    waiting.append((source, needed))
            _controls(found, source, marks, waiting, seen)


def _controls(
    found: list[Statement],
    at: int,
    marks: dict[int, set[str]],
    waiting: list[tuple[int, str]],
    seen: set[tuple[int, str]],
) -> None:
    """The heads around a statement decide whether it runs."""
    parent = found[at].parent
    while parent >= 0:
        marks.setdefault(parent, set()).add("control")
        for needed in sorted(found[parent].reads):
            if (parent, needed) not in seen:
                seen.add((parent, needed))
                waiting.append((parent, needed))
        parent = found[parent].parent


def _writers(found: list[Statement], at: int, name: str) -> list[int]:
    """Statements whose write of `name` may reach statement `at`."""
    reached = []
    for before in range(at - 1, -1, -1):
        if name in found[before].writes:
            reached.append(before)
            if _always(found, before, at):
                break
    loops = [head for head in _heads(found, at) if found[head].loop]
    if loops:
        outer = loops[-1]
        reached += [
            after
            for after in range(at, len(found))
            if name in found[after].writes and outer in _heads(found, after) and after != at
        ]
    return reached


def _always(found: list[Statement], before: int, at: int) -> bool:
    """Does every way to `at` pass `before`? So it does when all heads around `before` also stand around `at`."""
    return set(_heads(found, before)) <= {*_heads(found, at), at}


def _heads(found: list[Statement], at: int) -> list[int]:
    """Heads around a statement, innermost first."""
    heads = []
    parent = found[at].parent
    while parent >= 0:
        heads.append(parent)
        parent = found[parent].parent
    return heads


def _forward(found: list[Statement], start: int, name: str, marks: dict[int, set[str]]) -> None:
    waiting = [(start, name)]
    seen = set(waiting)
    while waiting:
        at, carried = waiting.pop()
        for user in range(len(found)):
            origin = (
                user != at
                and carried in found[user].reads
                and at in _writers_or_start(found, user, carried, start)
            )
            if not origin:
                continue
            marks.setdefault(user, set()).add("use")
            for made in sorted(found[user].writes):
                if (user, made) not in seen:
                    seen.add((user, made))
                    waiting.append((user, made))


def _writers_or_start(found: list[Statement], user: int, name: str, start: int) -> list[int]:
    """A slice may start at a read: what reads the same value later counts as flowing from it."""
    sources = _writers(found, user, name)
    if start < user and name not in found[start].writes and _writers(found, start, name) == sources:
        return [*sources, start]
    return sources


def _json(item: Statement, roles: set[str], lines: list[str]) -> dict[str, Any]:
    return {
        "line": item.line,
        "end_line": item.end_line,
        "roles": sorted(roles),
        "writes": sorted(item.writes),
        "reads": sorted(item.reads),
        "text": lines[item.line - 1] if item.line <= len(lines) else "",
    }
