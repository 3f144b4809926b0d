"""What a person types to mean a place or a definition."""

from __future__ import annotations

import re
from typing import NamedTuple

from gitindex.errors import UsageError
from gitindex.model import paths
from gitindex.navigate.fact_queries import Definition
from gitindex.navigate.layer import Layers

_POSITION = re.compile(r"(.+?):(\d{1,9})(?::(\d{1,9}))?")
_ID = re.compile(r"(.+)#(.+):(\d{1,9})")


class Position(NamedTuple):
    """1-based, as everywhere."""

    path: str
    line: int
    column: int | None


def position(text: str) -> Position | None:
    """`PATH:LINE` or `PATH:LINE:COL`; None for anything else.

    Raises UsageError for a line or column zero, UnsafePath for a path that leaves the codebase.
    """
    found = _POSITION.fullmatch(text)
    if found is None or "#" in text:
        return None
    line, column = int(found[2]), int(found[3]) if found[3] else None
    if line < 1 or column == 0:
        raise UsageError(f"lines and columns count from 1: {text}")
    return Position(paths.path_key(found[1]), line, column)


def definitions(layers: Layers, text: str) -> list[Definition]:
    """Definitions meant by a name, a qualified name, `PATH#NAME`, a symbol id or a position."""
    known = _ID.fullmatch(text)
    if known:
        same = [item for item in layers.definitions(f"{known[1]}#{known[2]}") if item.id == text]
        if same:
            return same
    at = position(text)
    if at is None:
        return layers.definitions(text)
    return layers.meaning(at.path, at.line, at.column) if at.column else []
