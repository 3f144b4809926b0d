"""Positions packed as varints: line deltas, and columns that restart on each new line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def pack(positions: Iterable[tuple[int, int]]) -> bytes:
    """Pack ascending (line, column) pairs."""
    out = bytearray()
    last = 0
    for line, column in positions:
        _append_varint(out, line - last)
        _append_varint(out, column)
        last = line
    return bytes(out)


def unpack(blob: bytes) -> Iterator[tuple[int, int]]:
    line = 0
    offset = 0
    while offset < len(blob):
        delta, offset = _read_varint(blob, offset)
        column, offset = _read_varint(blob, offset)
        line += delta
        yield line, column


def _append_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _read_varint(blob: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = blob[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, offset
        shift += 7
