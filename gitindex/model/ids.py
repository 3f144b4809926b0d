"""Deterministic identities (SN-3) and time-ordered ids. Pure, except that `ulid` draws time and randomness."""

from __future__ import annotations

import hashlib
import os
import time

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def blob_id(data: bytes, algorithm: str = "sha1") -> str:
    """The id git gives to these bytes, so dirty and committed content share one namespace."""
    digest = hashlib.new(algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


def chunk_hash(text: str) -> str:
    return sha256_hex(text.encode("utf-8", "surrogatepass"))


def chunk_id(content_hash: str, chunker_version: str, kind: str) -> str:
    """Content identity: no path, so a rename keeps it and re-embeds nothing."""
    return sha256_hex(f"{content_hash}\0{chunker_version}\0{kind}".encode())


def row_id(path_key: str, chunk: str, ordinal: int) -> str:
    return sha256_hex(f"{path_key}\0{chunk}\0{ordinal}".encode())


def ulid(now_ms: int | None = None) -> str:
    """26 characters, sortable by time: the form of snapshot, transaction and owner ids."""
    stamp = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    value = (stamp << 80) | int.from_bytes(os.urandom(10), "big")
    return "".join(_CROCKFORD[(value >> shift) & 31] for shift in range(125, -1, -5))


def creation_ms(name: str) -> int:
    """The time a `ulid` was made; 0 for a name that is none, so that it counts as ancient."""
    value = 0
    for char in name[:10]:
        digit = _CROCKFORD.find(char)
        if digit < 0:
            return 0
        value = value << 5 | digit
    return value
