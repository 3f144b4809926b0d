"""Def-use slice of a variable in one file: what its value at a line depends on, and what depends on it (QU-3).

Flow is approximated by source order: a write is seen by later reads until another write of the same block stands
between; a loop also carries writes back to its start. So a slice may hold a statement too many, rarely one too few.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gitindex.extract import file_limits, sandbox
from gitindex.model.frozen import frozen
from gitindex.navigate.dataflow import Statement, find_statements

BACKWARD = "backward"
FORWARD = "forward"
BOTH = "both"


class SliceLine(NamedTuple):
    """A statement of the slice; `text` is its first line."""

    line: int
    end_line: int
    roles: tuple[str, ...]  # criterion | definition | control | use
    writes: tuple[str, ...]
    reads: tuple[str, ...]
    text: str


@frozen
class VariableSlice:
    name: str
    line: int
    direction: str
    lines: tuple[SliceLine, ...]
    precision: str = "syntactic"


def slice_lines(language: str, text: str, line: int, name: str, direction: str) -> VariableSlice | None:
    """The slice of a variable at a line; None when the language has no grammar. An unknown name gives no lines.

    Raises SandboxDied when the file takes more time or memory than a file may (EL-8).
    """
    with sandbox.borrow_sandbox() as box:
        [rows] = box.stream(__name__, "compute", language, text, line, name, direction)
    if rows is None:
        return None
    return VariableSlice(name, line, direction, tuple(SliceLine(*row) for row in rows))


def compute(
    language: str, text: str, line: int, name: str, direction: str
) -> Iterator[list[tuple[object, ...]] | None]:
    """The statements of a slice, computed in a sandbox: a parser that crashes ends no other process.

    Yields plain tuples, because only those pass the pipe between the processes.
    """
    with file_limits.enforce_limits(len(text)):
        lines = _compute_slice(language, text, line, name, direction)
        yield None if lines is None else [tuple(item) for item in lines]


def _compute_slice(language: str, text: str, line: int, name: str, direction: str) -> list[SliceLine] | None:
    stmts = find_statements(language, text.encode("utf-8", "surrogatepass"), line)
    if stmts is None:
        return None
    start = _find_start(stmts, line, name)
    marks: dict[int, set[str]] = {}
    if start is not None:
        marks[start] = {"criterion"}
        if direction in (BACKWARD, BOTH):
            _mark_backward(stmts, start, name, marks)
        if direction in (FORWARD, BOTH):
            _mark_forward(stmts, start, name, marks)
    lines = text.split("\n")
    return [_make_line(stmts[index], roles, lines) for index, roles in sorted(marks.items())]


def _find_start(stmts: list[Statement], line: int, name: str) -> int | None:
    """The innermost statement at the line that mentions the name."""
    enclosing = [
        index
        for index, item in enumerate(stmts)
        if item.line <= line <= item.end_line and name in item.reads | item.writes
    ]
    return max(enclosing, key=lambda index: (stmts[index].line, index), default=None)


def _mark_backward(stmts: list[Statement], start: int, name: str, marks: dict[int, set[str]]) -> None:
    variables = {name} if name in stmts[start].reads else set()
    variables |= set(stmts[start].reads) if name in stmts[start].writes else set()
    pending = [(start, variable) for variable in sorted(variables)]
    visited = set(pending)
    _mark_controls(stmts, start, marks, pending, visited)
    while pending:
        index, wanted = pending.pop()
        for source in _find_writers(stmts, index, wanted):
            marks.setdefault(source, set()).add("definition")
            for needed in sorted(stmts[source].reads):
                if (source, needed) not in visited:
                    visited.add((source, needed))
                    pending.append((source, needed))
            _mark_controls(stmts, source, marks, pending, visited)


def _mark_controls(
    stmts: list[Statement],
    index: int,
    marks: dict[int, set[str]],
    pending: list[tuple[int, str]],
    visited: set[tuple[int, str]],
) -> None:
    """The heads around a statement decide whether it runs."""
    parent = stmts[index].parent
    while parent >= 0:
        marks.setdefault(parent, set()).add("control")
        for needed in sorted(stmts[parent].reads):
            if (parent, needed) not in visited:
                visited.add((parent, needed))
                pending.append((parent, needed))
        parent = stmts[parent].parent


def _find_writers(stmts: list[Statement], target: int, name: str) -> list[int]:
    """Statements whose write of `name` may reach statement `target`."""
    reached = []
    for earlier in range(target - 1, -1, -1):
        if name in stmts[earlier].writes:
            reached.append(earlier)
            if _dominates(stmts, earlier, target):
                break
    loops = [head for head in _enclosing_heads(stmts, target) if stmts[head].is_loop]
    if loops:
        outer = loops[-1]
        reached += [
            later
            for later in range(target, len(stmts))
            if name in stmts[later].writes and outer in _enclosing_heads(stmts, later) and later != target
        ]
    return reached


def _dominates(stmts: list[Statement], writer: int, target: int) -> bool:
    """Does every way to `target` pass `writer`? Yes, if every head around `writer` is also around `target`."""
    return set(_enclosing_heads(stmts, writer)) <= {*_enclosing_heads(stmts, target), target}


def _enclosing_heads(stmts: list[Statement], index: int) -> list[int]:
    """Heads around a statement, innermost first."""
    heads = []
    parent = stmts[index].parent
    while parent >= 0:
        heads.append(parent)
        parent = stmts[parent].parent
    return heads


def _mark_forward(stmts: list[Statement], start: int, name: str, marks: dict[int, set[str]]) -> None:
    pending = [(start, name)]
    visited = set(pending)
    while pending:
        writer, variable = pending.pop()
        for user in range(len(stmts)):
            origin = (
                user != writer
                and variable in stmts[user].reads
                and writer in _find_origins(stmts, user, variable, start)
            )
            if not origin:
                continue
            marks.setdefault(user, set()).add("use")
            for written_name in sorted(stmts[user].writes):
                if (user, written_name) not in visited:
                    visited.add((user, written_name))
                    pending.append((user, written_name))


def _find_origins(stmts: list[Statement], user: int, name: str, start: int) -> list[int]:
    """A slice may start at a read: what reads the same value later counts as flowing from it."""
    sources = _find_writers(stmts, user, name)
    if start < user and name not in stmts[start].writes and _find_writers(stmts, start, name) == sources:
        return [*sources, start]
    return sources


def _make_line(item: Statement, roles: set[str], lines: list[str]) -> SliceLine:
    return SliceLine(
        line=item.line,
        end_line=item.end_line,
        roles=tuple(sorted(roles)),
        writes=tuple(sorted(item.writes)),
        reads=tuple(sorted(item.reads)),
        text=lines[item.line - 1] if item.line <= len(lines) else "",
    )
