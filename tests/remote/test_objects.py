"""Stored objects and tables of contents: deterministic, bounded, strict (RE-3)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gitindex.errors import ChecksumMismatch, IntegrityError, UsageError
from gitindex.remote import stored_objects, toc
from gitindex.remote.remote_layout import Names
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.remote.toc import TocEntry
from gitindex.trust.strictjson import MalformedError
from tests.trust.made import snapshot_claim

HASHES = st.binary(min_size=32, max_size=32).map(bytes.hex)


@given(st.binary(max_size=5000))
def test_round_trip_and_determinism(data):
    packed, stored = stored_objects.pack_bytes(data)
    assert (packed, stored) == stored_objects.pack_bytes(data)
    assert packed.sha256 == hashlib.sha256(stored).hexdigest()
    assert (packed.size, packed.raw_size) == (len(stored), len(data))
    assert stored_objects.unpack_bytes(stored, packed) == data


def test_file_and_bytes_pack_alike(tmp_path):
    data = b"abcdefgh" * 400_000
    (tmp_path / "raw").write_bytes(data)
    packed = stored_objects.pack_file(tmp_path / "raw", tmp_path / "stored")
    assert (packed, (tmp_path / "stored").read_bytes()) == stored_objects.pack_bytes(data)


@given(st.binary(min_size=1, max_size=500), st.data())
def test_any_change_of_stored_bytes_is_refused(data, draw):
    """Bit flip, truncation, padding: the hash is checked before anything is decompressed."""
    packed, stored = stored_objects.pack_bytes(data)
    at = draw.draw(st.integers(0, len(stored) - 1))
    flipped = stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]
    for bad in (flipped, stored[:at], stored + b"\0"):
        with pytest.raises(ChecksumMismatch):
            stored_objects.unpack_bytes(bad, packed)


@pytest.mark.parametrize("sized", [True, False])
def test_decompression_bomb_stops_at_the_signed_size(sized):
    """A frame of a few KB that unpacks to 64 MiB, with and without a size in its header."""
    bomb = b"\0" * (64 * 1024 * 1024)
    compressor = zstandard.ZstdCompressor(write_content_size=sized)
    stored = compressor.compress(bomb) if sized else _unsized(compressor, bomb)
    assert len(stored) < 10_000
    said = PackedArtifact(hashlib.sha256(stored).hexdigest(), len(stored), "0" * 64, 1000)
    with pytest.raises(ChecksumMismatch, match="more than 1000"):
        stored_objects.unpack_bytes(stored, said)


def _unsized(compressor, data):
    stream = compressor.compressobj()
    return stream.compress(data) + stream.flush()


def test_signed_but_not_zstd_or_other_content():
    junk = b"not a frame at all"
    said = PackedArtifact(hashlib.sha256(junk).hexdigest(), len(junk), "0" * 64, 1000)
    with pytest.raises(ChecksumMismatch, match="zstd"):
        stored_objects.unpack_bytes(junk, said)
    packed, stored = stored_objects.pack_bytes(b"content")
    with pytest.raises(ChecksumMismatch, match="other bytes"):
        stored_objects.unpack_bytes(stored, replace(packed, raw_sha256="0" * 64))
    with pytest.raises(ChecksumMismatch, match="other bytes"):
        stored_objects.unpack_bytes(stored, replace(packed, raw_size=8))


def entry(path: str, number: int = 1) -> TocEntry:
    return TocEntry(path, PackedArtifact(f"{number:064x}", 10, "a" * 64, 20))


def test_toc_round_trip_and_sums():
    made = toc.make([entry("b/c", 2), entry("a", 1), entry("b/d", 1)])
    assert [one.path for one in made.entries] == ["a", "b/c", "b/d"]
    assert (made.totals.artifacts, made.totals.size, made.totals.raw_size) == (3, 20, 60)
    reference, stored = toc.pack(made)
    claim = snapshot_claim(toc=reference, totals=made.totals)
    assert toc.unpack(stored, claim) == made
    with pytest.raises(IntegrityError, match="sums"):
        toc.unpack(stored, replace(claim, totals=replace(made.totals, raw_size=61)))
    with pytest.raises(ChecksumMismatch):
        toc.unpack(stored[:-1], claim)
    with pytest.raises(IntegrityError, match="more than"):
        toc.unpack(stored, replace(claim, toc=replace(reference, raw_size=toc.MAX_TOC_BYTES + 1)))


@pytest.mark.parametrize(
    "paths",
    [
        ["../x"],
        ["/etc/passwd"],
        ["a/../../x"],
        ["a/./b"],
        ["a//b"],
        ["a/"],
        [""],
        ["."],
        ["a\\..\\b"],
        ["a\0b"],
        ["a\nb"],
        ["e\u0301"],
        ["a", "a"],
        ["A", "a"],
        ["a", "a/b"],
        ["b", "a"],
    ],
)
def test_toc_paths_cannot_escape_or_collide(paths):
    """A path becomes a file below staging: no traversal, no twin, no file that is a directory, in order."""
    listed = [json.loads(toc.encode(toc.Toc((entry(path, 1),))))["artifacts"][0] for path in paths]
    with pytest.raises(IntegrityError, match="malformed"):
        toc.decode(json.dumps({"version": 1, "artifacts": listed}).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"version":2,"artifacts":[]}',
        b'{"version":1,"artifacts":{}}',
        b'{"version":1,"artifacts":[],"artifacts":[]}',
        b'{"version":1,"artifacts":[{"path":"a"}]}',
        b"[" * 100_000,
    ],
)
def test_malformed_toc(data):
    with pytest.raises(IntegrityError):
        toc.decode(data)


def test_one_object_has_one_description():
    two = [entry("a", 1), TocEntry("b", PackedArtifact(f"{1:064x}", 11, "a" * 64, 20))]
    with pytest.raises(MalformedError, match="two ways"):
        toc.make(two)


@given(HASHES)
def test_names_round_trip(sha256):
    names = Names("r0")
    assert names.object_key(sha256) == f"v1/r0/obj/{sha256[:2]}/{sha256}"
    assert names.parse_object_key(names.object_key(sha256)) == sha256
    assert names.parse_object_key(f"v1/r1/obj/{sha256[:2]}/{sha256}") is None
    key = names.manifest_key(sha256, sha256[:40])
    assert key == f"v1/r0/man/{sha256[:16]}/{sha256[:40]}.json"
    assert names.parse_manifest_key(key) == sha256[:40]
    assert names.parse_manifest_key(key + "x") is None
    assert names.parse_object_key(key) is None


def test_names_take_nothing_else():
    for bad in ("", "../r", "R", "a/b"):
        with pytest.raises(UsageError):
            Names(bad)
    with pytest.raises(UsageError):
        Names("r0").object_key("../../x")
    with pytest.raises(UsageError):
        Names("r0").manifest_key("f" * 64, "HEAD")
