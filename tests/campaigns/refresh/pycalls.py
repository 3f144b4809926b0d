"""An independent reader of calls in Python sources: the standard library's own parser, nothing of gitindex's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Place = tuple[int, int]  # line and column from 1, columns in code points


class Call(NamedTuple):
    name: str
    place: Place  # of the called name
    scopes: tuple[str, ...]  # names of the functions and classes around it, outermost first


def calls(source: str) -> Iterator[Call]:
    lines = source.split("\n")
    yield from _walk(ast.parse(source), (), lines)


def _walk(node: ast.AST, scopes: tuple[str, ...], lines: list[str]) -> Iterator[Call]:
    if isinstance(node, ast.Call):
        found = _called(node.func, lines)
        if found:
            yield Call(*found, scopes)
    inner = (*scopes, node.name) if isinstance(node, _SCOPES) else scopes
    outside = node.decorator_list if isinstance(node, _SCOPES) else []
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, scopes if child in outside else inner, lines)


def _called(function: ast.expr, lines: list[str]) -> tuple[str, Place] | None:
    if isinstance(function, ast.Name):
        return function.id, _place(lines, function.lineno, function.col_offset)
    if isinstance(function, ast.Attribute):
        line, end = function.end_lineno or 0, function.end_col_offset or 0
        return function.attr, _place(lines, line, end - len(function.attr.encode()))
    return None


def _place(lines: list[str], line: int, offset: int) -> Place:
    return line, len(lines[line - 1].encode()[:offset].decode()) + 1
