"""Symbol strings in storage: sorted, cut into blocks, each compressed. A string is found by its number."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

BLOCK = 128
_MAX_BLOCK_BYTES = 64 * 1024 * 1024


def pack_names(names: Sequence[bytes]) -> Iterator[bytes]:
    """Blocks of `BLOCK` names each, lengths before texts; give them sorted, for size."""
    import zstandard

    compressor = zstandard.ZstdCompressor(level=6)
    for at in range(0, len(names), BLOCK):
        part = names[at : at + BLOCK]
        sizes = struct.pack(f"<{len(part)}I", *map(len, part))
        yield compressor.compress(b"".join([len(part).to_bytes(2, "little"), sizes, *part]))


def unpack_names(block: bytes) -> list[bytes]:
    import zstandard

    data = zstandard.ZstdDecompressor().decompress(block, max_output_size=_MAX_BLOCK_BYTES)
    count = int.from_bytes(data[:2], "little")
    at = 2 + 4 * count
    out = []
    for size in struct.unpack_from(f"<{count}I", data, 2):
        out.append(data[at : at + size])
        at += size
    return out
