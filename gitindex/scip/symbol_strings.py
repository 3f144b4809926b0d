"""The stored form of symbol strings: sorted, cut into blocks, each block compressed. A string is read by its number.

A block, decompressed: the number of strings (two bytes), their lengths (four bytes each), the strings end to end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

NAMES_PER_BLOCK = 128
_MAX_BLOCK_BYTES = 64 * 1024 * 1024


def pack_names(names: Sequence[bytes]) -> Iterator[bytes]:
    """Blocks of `NAMES_PER_BLOCK` names each. Sorted names compress best."""
    import zstandard

    compressor = zstandard.ZstdCompressor(level=6)
    for start in range(0, len(names), NAMES_PER_BLOCK):
        batch = names[start : start + NAMES_PER_BLOCK]
        sizes = struct.pack(f"<{len(batch)}I", *map(len, batch))
        yield compressor.compress(b"".join([len(batch).to_bytes(2, "little"), sizes, *batch]))


def unpack_names(block: bytes) -> list[bytes]:
    import zstandard

    data = zstandard.ZstdDecompressor().decompress(block, max_output_size=_MAX_BLOCK_BYTES)
    count = int.from_bytes(data[:2], "little")
    offset = 2 + 4 * count
    texts = []
    for size in struct.unpack_from(f"<{count}I", data, 2):
        texts.append(data[offset : offset + size])
        offset += size
    return texts
