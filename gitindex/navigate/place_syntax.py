"""Parses what a person types for a place or a definition."""

from __future__ import annotations

import re
from typing import NamedTuple

from gitindex.errors import UsageError
from gitindex.model import paths
from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.navigate.layer import Layers

_POSITION = re.compile(r"(.+?):(\d{1,9})(?::(\d{1,9}))?")
_ID = re.compile(r"(.+)#(.+):(\d{1,9})")


class Position(NamedTuple):
    """Line and column count from 1."""

    path: str
    line: int
    column: int | None


def parse_position(text: str) -> Position | None:
    """`PATH:LINE` or `PATH:LINE:COL`; None for anything else.

    Raises UsageError for a line or column zero, UnsafePath for a path that leaves the codebase.
    """
    match = _POSITION.fullmatch(text)
    if match is None or "#" in text:
        return None
    line, column = int(match[2]), int(match[3]) if match[3] else None
    if line < 1 or column == 0:
        raise UsageError(f"lines and columns count from 1: {text}")
    return Position(paths.path_key(match[1]), line, column)


def find_definitions(layers: Layers, text: str) -> list[DefinitionSite]:
    """Definitions meant by a name, a qualified name, `PATH#NAME`, a symbol id or a position."""
    id_match = _ID.fullmatch(text)
    if id_match:
        matches = [
            item for item in layers.find_definitions(f"{id_match[1]}#{id_match[2]}") if item.id == text
        ]
        if matches:
            return matches
    place = parse_position(text)
    if place is None:
        return layers.find_definitions(text)
    return layers.find_definitions_at(place.path, place.line, place.column) if place.column else []
