"""Positions packed as varints: line deltas, and columns that restart on each new line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def pack(positions: Iterable[tuple[int, int]]) -> bytes:
    """Pack ascending (line, column) pairs."""
    out = bytearray()
    last = 0
    for line, column in positions:
        _varint(out, line - last)
        _varint(out, column)
        last = line
    return bytes(out)


def unpack(blob: bytes) -> Iterator[tuple[int, int]]:
    line = 0
    at = 0
    while at < len(blob):
        delta, at = _read(blob, at)
        column, at = _read(blob, at)
        line += delta
        yield line, column


def _varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _read(blob: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = blob[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
