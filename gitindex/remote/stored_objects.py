"""Stored form of an artifact: one zstd frame, named by the sha256 of its stored bytes.

Packing is deterministic for one zstd version, so the same artifact becomes the same object; with another version it
becomes a second object. Unpacking checks the stored hash first and is limited by the signed sizes.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

import zstandard

from gitindex.errors import ChecksumMismatch

LEVEL = 3
_CHUNK = 1024 * 1024
_MAX_WINDOW = 128 * 1024 * 1024  # a frame may ask for this much memory, whatever its size


Data = TypeVar("Data", bytes, memoryview)


@dataclass(frozen=True, slots=True)
class PackedArtifact:
    """Hash and size of an artifact, stored (compressed) and raw."""

    sha256: str  # of the stored bytes
    size: int
    raw_sha256: str
    raw_size: int


class _HashingFile:
    """A file whose reads and writes are hashed and counted."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size = 0

    def read(self, amount: int = -1) -> bytes:
        return self._update_digest(self._file.read(amount))

    def write(self, data: Data) -> int:
        return self._file.write(self._update_digest(data))

    def _update_digest(self, data: Data) -> Data:
        self.digest.update(data)
        self.size += len(data)
        return data


def pack(source: BinaryIO, size: int, target: BinaryIO) -> PackedArtifact:
    """Compress `size` bytes of `source` into `target`."""
    raw, stored = _HashingFile(source), _HashingFile(target)
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=False, write_content_size=True)
    compressor.copy_stream(raw, stored, size=size, read_size=_CHUNK, write_size=_CHUNK)  # type: ignore[arg-type]
    return PackedArtifact(stored.digest.hexdigest(), stored.size, raw.digest.hexdigest(), raw.size)


def pack_file(source: Path, target: Path) -> PackedArtifact:
    with source.open("rb") as reader, target.open("wb") as writer:
        return pack(reader, source.stat().st_size, writer)


def pack_bytes(data: bytes) -> tuple[PackedArtifact, bytes]:
    target = io.BytesIO()
    packed = pack(io.BytesIO(data), len(data), target)
    return packed, target.getvalue()


def unpack(source: BinaryIO, expected: PackedArtifact, target: BinaryIO) -> None:
    """Check the stored bytes, then write the raw ones. Raises ChecksumMismatch."""
    check_stored(source, expected)
    source.seek(0)
    inflate(source, expected, target)


def inflate(source: BinaryIO, expected: PackedArtifact, target: BinaryIO) -> None:
    """Unpack stored bytes whose hash was checked; never writes more bytes than signed.

    Raises ChecksumMismatch. Not by `decompress(max_output_size=…)`: it ignores the limit when the header of the frame
    holds a size.
    """
    written = _HashingFile(target)
    reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(source, read_size=_CHUNK)
    # One buffer for all reads: allocating one per read costs as much as unpacking. It has room for one byte more than
    # signed, which tells a longer frame from one of the right size.
    buffer = memoryview(bytearray(min(_CHUNK, expected.raw_size + 1)))
    try:
        while count := reader.readinto(buffer[: expected.raw_size + 1 - written.size]):
            if written.size + count > expected.raw_size:
                raise mismatch_error(expected.sha256, f"unpacks to more than {expected.raw_size} bytes")
            written.write(buffer[:count])
    except (zstandard.ZstdError, MemoryError) as error:
        raise mismatch_error(expected.sha256, f"is not a zstd frame: {error}") from error
    if (written.size, written.digest.hexdigest()) != (expected.raw_size, expected.raw_sha256):
        raise mismatch_error(expected.sha256, "unpacks to other bytes than signed")


def unpack_bytes(data: bytes, expected: PackedArtifact) -> bytes:
    target = io.BytesIO()
    unpack(io.BytesIO(data), expected, target)
    return target.getvalue()


def check_stored(source: BinaryIO, expected: PackedArtifact) -> None:
    """Compare size and hash before anything interprets the bytes. Raises ChecksumMismatch."""
    reader = _HashingFile(source)
    while reader.size <= expected.size and reader.read(_CHUNK):
        pass
    if (reader.size, reader.digest.hexdigest()) != (expected.size, expected.sha256):
        raise mismatch_error(expected.sha256, "does not hold the bytes its name says")


def mismatch_error(sha256: str, reason: str) -> ChecksumMismatch:
    return ChecksumMismatch(f"remote object {sha256} {reason}", hint="push the commit again", object=sha256)
