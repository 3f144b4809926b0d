"""Symbol strings in storage: sorted, cut into blocks, each compressed. A string is found by its number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

BLOCK = 256
_MAX_BLOCK_BYTES = 64 * 1024 * 1024


def pack_names(names: Sequence[bytes]) -> Iterator[bytes]:
    """Blocks of `BLOCK` names each; give them sorted, for size."""
    import zstandard

    compressor = zstandard.ZstdCompressor(level=9)
    for at in range(0, len(names), BLOCK):
        part = names[at : at + BLOCK]
        yield compressor.compress(b"".join(len(name).to_bytes(3, "little") + name for name in part))


def unpack_names(block: bytes) -> list[bytes]:
    import zstandard

    data = zstandard.ZstdDecompressor().decompress(block, max_output_size=_MAX_BLOCK_BYTES)
    out, at = [], 0
    while at < len(data):
        end = at + 3 + int.from_bytes(data[at : at + 3], "little")
        out.append(data[at + 3 : end])
        at = end
    return out
