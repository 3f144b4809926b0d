"""Values by 64-bit keys in storage, many to a block: a row per key would cost more than most values.

A block: how many keys, the keys ascending, where each value ends, the values end to end. It is found by its
first key. Ends take two bytes, or four in a block with long values, whose count has the `WIDE` bit. `packing`
writes blocks from arrays; reading is plain Python.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

KEYS_PER_BLOCK = 16  # small enough that several share a page
WIDE = 0x8000
HEAD = struct.Struct("<H")


class _BlockHeader(NamedTuple):
    keys: tuple[int, ...]
    ends: tuple[int, ...]
    values: int  # where they start


def find(block: bytes, key: int) -> bytes | None:
    """The value of one key."""
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
    count, ends = head & ~WIDE, struct.Struct(f"<{head & ~WIDE}{'I' if head & WIDE else 'H'}")
    ends_offset = HEAD.size + 8 * count
    keys = struct.unpack_from(f"<{count}q", block, HEAD.size)
    return _BlockHeader(keys, ends.unpack_from(block, ends_offset), ends_offset + ends.size)
