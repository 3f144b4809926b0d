"""Packs the call sites of one file into one row: each name once, numbers in columns as narrow as their largest.

Names are stored as JSON, because a callee may be any text: in PHP even an expression with line breaks in it.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitindex.model.rows import ExtractedCall

_WIDTHS = {"B": 1, "H": 2, "I": 4}
_BIG_ENDIAN = sys.byteorder != "little"
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class PackedCalls(NamedTuple):
    callees: str  # JSON list: every name once, in the order of first use; its place there is its number
    receivers: str  # likewise
    places: bytes  # a count, then columns: number of the callee, of the receiver, line, column, caller + 1


def pack(calls: Sequence[ExtractedCall]) -> tuple[dict[str, int], PackedCalls]:
    """The number of every callee, by which `unpack_named` finds its calls, and the row."""
    callees, receivers, lines, columns, callers = zip(*calls, strict=True) if calls else ((),) * 5
    callee_numbers, receiver_numbers = _number_names(callees), _number_names(receivers)
    places = (
        len(calls).to_bytes(4, "little"),
        _encode_column([callee_numbers[name] for name in callees]),
        _encode_column([receiver_numbers[name] for name in receivers]),
        _encode_column(lines),
        _encode_column(columns),
        _encode_column([caller + 1 for caller in callers]),
    )
    return callee_numbers, PackedCalls(
        _encode([*callee_numbers]), _encode([*receiver_numbers]), b"".join(places)
    )


def unpack(callees: str, receivers: str, places: bytes) -> Iterator[ExtractedCall]:
    """All calls, in the order they were packed in."""
    callee_names, receiver_names = json.loads(callees), json.loads(receivers)
    for callee, receiver, line, column, caller in zip(*_decode_columns(places), strict=True):
        yield ExtractedCall(callee_names[callee], receiver_names[receiver], line, column, caller - 1)


def unpack_named(name: str, number: int, receivers: str, places: bytes) -> Iterator[ExtractedCall]:
    """The calls of one name, in order, without decoding the others."""
    receiver_names = json.loads(receivers)
    callee_numbers, receiver_numbers, lines, columns, callers = _decode_columns(places)
    index = -1
    for _ in range(callee_numbers.count(number)):
        index = callee_numbers.index(number, index + 1)
        yield ExtractedCall(
            name, receiver_names[receiver_numbers[index]], lines[index], columns[index], callers[index] - 1
        )


def _number_names(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _encode_column(numbers: Sequence[int]) -> bytes:
    """The letter of the width, then the numbers, little-endian."""
    largest = max(numbers, default=0)
    if largest < 1 << 8:
        return b"B" + bytes(numbers)
    typecode = "H" if largest < 1 << 16 else "I"
    return typecode.encode() + _swap_if_big_endian(array(typecode, numbers)).tobytes()


def _decode_columns(places: bytes) -> Iterator[Sequence[int]]:
    count = int.from_bytes(places[:4], "little")
    end = 4
    for _ in range(5):
        typecode = chr(places[end])
        start, end = end + 1, end + 1 + count * _WIDTHS[typecode]
        # `bytes` is a sequence of numbers already, and quicker to search than an array.
        yield (
            places[start:end] if typecode == "B" else _swap_if_big_endian(array(typecode, places[start:end]))
        )


def _swap_if_big_endian(numbers: array[int]) -> array[int]:
    if _BIG_ENDIAN:
        numbers.byteswap()
    return numbers
