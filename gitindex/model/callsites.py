"""Call sites of one file as one row: each name once, and numbers in columns as narrow as their largest.

Names are JSON, because a callee is whatever the source calls by: in PHP even an expression with line breaks in it.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitindex.model.rows import Call

_WIDTHS = {"B": 1, "H": 2, "I": 4}
_FOREIGN = sys.byteorder != "little"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Packed(NamedTuple):
    callees: str  # JSON list: every name once, in the order of first use; its place there is its number
    receivers: str  # likewise
    places: bytes  # a count, then columns: number of the callee, of the receiver, line, column, caller + 1


def pack(calls: Sequence[Call]) -> tuple[dict[str, int], Packed]:
    """The number of every callee, by which `named` finds its calls, and the row."""
    callees, receivers, lines, columns, callers = zip(*calls, strict=True) if calls else ((),) * 5
    callee_of, receiver_of = _numbered(callees), _numbered(receivers)
    places = (
        len(calls).to_bytes(4, "little"),
        _narrow([callee_of[name] for name in callees]),
        _narrow([receiver_of[name] for name in receivers]),
        _narrow(lines),
        _narrow(columns),
        _narrow([caller + 1 for caller in callers]),
    )
    return callee_of, Packed(_encode([*callee_of]), _encode([*receiver_of]), b"".join(places))


def unpack(callees: str, receivers: str, places: bytes) -> Iterator[Call]:
    """All calls, in the order they were packed in."""
    names, owners = json.loads(callees), json.loads(receivers)
    for callee, receiver, line, column, caller in zip(*_columns(places), strict=True):
        yield Call(names[callee], owners[receiver], line, column, caller - 1)


def named(name: str, number: int, receivers: str, places: bytes) -> Iterator[Call]:
    """The calls of one name, in order, without a look at the others."""
    owners = json.loads(receivers)
    which, before, lines, columns, callers = _columns(places)
    at = -1
    for _ in range(which.count(number)):
        at = which.index(number, at + 1)
        yield Call(name, owners[before[at]], lines[at], columns[at], callers[at] - 1)


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: at for at, name in enumerate(dict.fromkeys(names))}


def _narrow(numbers: Sequence[int]) -> bytes:
    """The letter of the width, then the numbers, little-endian."""
    largest = max(numbers, default=0)
    if largest < 1 << 8:
        return b"B" + bytes(numbers)
    form = "H" if largest < 1 << 16 else "I"
    return form.encode() + _turned(array(form, numbers)).tobytes()


def _columns(places: bytes) -> Iterator[Sequence[int]]:
    count = int.from_bytes(places[:4], "little")
    end = 4
    for _ in range(5):
        form = chr(places[end])
        start, end = end + 1, end + 1 + count * _WIDTHS[form]
        # Bytes are numbers already, and quicker to look through than an array of them.
        yield places[start:end] if form == "B" else _turned(array(form, places[start:end]))


def _turned(numbers: array[int]) -> array[int]:
    if _FOREIGN:
        numbers.byteswap()
    return numbers
