"""Blocks: values by 64-bit key, several in one row of SQLite, because a row per key would be larger than its value.

Layout of a block: the number of keys (two bytes), the keys in ascending order, where each value ends, the values end
to end. A table finds a block by its first key. Ends take two bytes each, or four in a block with more than 65,535
bytes of values, whose number of keys has the `WIDE` bit set. `packing` writes blocks from arrays; reading is plain
Python.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

KEYS_PER_BLOCK = 16  # so that several blocks fit into a page of SQLite
WIDE = 0x8000
HEAD = struct.Struct("<H")


class _BlockHeader(NamedTuple):
    keys: tuple[int, ...]
    ends: tuple[int, ...]
    values: int  # where the values start


def find(block: bytes, key: int) -> bytes | None:
    """The value of a key, None when the block does not have it."""
    keys, ends, values = _parse_header(block)
    index = bisect_left(keys, key)
    if index == len(keys) or keys[index] != key:
        return None
    return block[values + (ends[index - 1] if index else 0) : values + ends[index]]


def items(block: bytes) -> Iterator[tuple[int, bytes]]:
    keys, ends, values = _parse_header(block)
    start = 0
    for key, end in zip(keys, ends, strict=True):
        yield key, block[values + start : values + end]
        start = end


def _parse_header(block: bytes) -> _BlockHeader:
    (head,) = HEAD.unpack_from(block)
    count = head & ~WIDE
    ends = struct.Struct(f"<{count}{'I' if head & WIDE else 'H'}")
    ends_offset = HEAD.size + 8 * count
    keys = struct.unpack_from(f"<{count}q", block, HEAD.size)
    return _BlockHeader(keys, ends.unpack_from(block, ends_offset), ends_offset + ends.size)
