"""An independent reader of SCIP files: the protobuf wire format by hand, nothing of gitindex's own reader."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Raw(NamedTuple):
    path: str
    line: int  # 1-based
    column: int  # 1-based, code points
    symbol: str
    roles: int
    text: str  # under the range, when it is on one line
    after: str  # the rest of the line


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
        elif kind == 2:
            size, at = varint(data, at)
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            at += {1: 8, 5: 4}[kind]


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def occurrences(data: bytes, read) -> Iterator[Raw]:
    """Every occurrence; `read(path)` gives a file's text, None to leave the document out."""
    for number, document in fields(data):
        if number != 2:
            continue
        parts = list(fields(document))
        path = next(value for field, value in parts if field == 1).decode()
        text = read(path)
        if text is None:
            continue
        lines = text.split("\n")
        for field, value in parts:
            if field == 2:
                yield _occurrence(path, lines, value)


def _occurrence(path: str, lines: list[str], data: bytes) -> Raw:
    span, symbol, roles = [], "", 0
    for field, value in fields(data):
        if field == 1:
            at = 0
            while at < len(value):
                number, at = varint(value, at)
                span.append(number)
        elif field == 2:
            symbol = value.decode()
        elif field == 3:
            roles = value
    start = _points(lines[span[0]], span[1])
    end = _points(lines[span[0]], span[2]) if len(span) == 3 else start
    line = lines[span[0]]
    return Raw(path, span[0] + 1, start + 1, symbol, roles, line[start:end], line[end:])


def _points(line: str, units: int) -> int:
    """UTF-16 units → code points."""
    return len(line.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))
