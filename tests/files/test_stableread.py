"""A read shows the file at one moment, or says that it could not (CS-3)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitindex.files.safeopen import NotAFile, OutOfRoot, Root, Unreadable, Vanished
from gitindex.files.stableread import TooLarge, Unstable, back_off, stable_read

MIB = 1 << 20


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    (tmp_path / "top").mkdir()
    with Root(tmp_path / "top") as opened:
        yield opened


def test_reads_content_and_its_moment(root: Root) -> None:
    target = root.path / "run.sh"
    target.write_bytes(b"#!/bin/sh\n")
    target.chmod(0o755)
    found = target.stat()
    read = stable_read(root, b"run.sh", MIB)
    assert read == (b"#!/bin/sh\n", 0o100755, (10, found.st_mtime_ns, found.st_ctime_ns, found.st_ino))
    target.chmod(0o640)
    assert stable_read(root, b"run.sh", MIB).mode == 0o100644


def test_a_link_reads_as_its_target(root: Root) -> None:
    (root.path / "link").symlink_to("../elsewhere")
    read = stable_read(root, b"link", MIB)
    assert (read.data, read.mode, read.stat.size) == (b"../elsewhere", 0o120000, 12)


def test_large_files_are_not_read(root: Root) -> None:
    """EL-1: a sparse terabyte costs nothing, and the skip can say how large it is."""
    with open(root.path / "big", "wb") as big:
        big.truncate(1 << 40)
    with pytest.raises(TooLarge) as caught:
        stable_read(root, b"big", 10 * MIB)
    assert caught.value.size == 1 << 40
    (root.path / "edge").write_bytes(b"x" * 100)
    assert stable_read(root, b"edge", 100).stat.size == 100


def test_names_every_other_no(root: Root) -> None:
    os.mkfifo(root.path / "fifo")
    (root.path / "dir").symlink_to(root.path.parent)
    for path, why in (
        (b"gone", Vanished),
        (b"fifo", NotAFile),
        (b"dir/top", OutOfRoot),
        (b"../x", OutOfRoot),
    ):
        with pytest.raises(why):
            stable_read(root, path, MIB)


def test_a_failing_disk_is_unreadable() -> None:
    """CS-3: our own memory file opens like any other and fails on the first read."""
    assert sys.platform == "linux"
    with Root(Path("/proc/self")) as proc, pytest.raises(Unreadable):
        stable_read(proc, b"mem", MIB, attempts=1)


def test_a_file_that_settles_is_read_whole(root: Root) -> None:
    """CS-3: half-written at first, complete when we come back."""
    target = root.path / "f"
    whole = b"whole\n" * 10
    stop, grown = threading.Event(), threading.Event()

    def write() -> None:
        with open(target, "ab", buffering=0) as out:
            while not stop.is_set():
                out.write(b"x" * 4096)
                grown.set()
                if out.tell() > 16 * MIB:
                    out.truncate(0)

    def settle(attempt: int) -> None:
        if stop.is_set():
            back_off(attempt)  # written a moment ago: the clock that stamps files has to tick first
            return
        stop.set()
        writer.join()
        target.write_bytes(whole)

    writer = threading.Thread(target=write)
    writer.start()
    grown.wait()
    read = None
    while not stop.is_set():  # a read between two writes shows a true moment too
        read = stable_read(root, b"f", 64 * MIB, pause=settle)
    assert read is not None
    assert read.data == whole


def test_a_file_that_never_settles_is_unstable() -> None:
    """CS-3: bounded retries. A proc file says size 0 and yields bytes, so it grows under every read."""
    tries: list[int] = []
    with Root(Path("/proc/self")) as proc, pytest.raises(Unstable):
        stable_read(proc, b"status", MIB, attempts=4, pause=tries.append)
    assert tries == [0, 1, 2]


def test_writers_never_yield_a_mix(root: Root) -> None:
    """CS-3: against a writer that rewrites in place, every successful read is one version."""
    target = root.path / "f"
    target.write_bytes(_version(0))
    stop = threading.Event()

    def write() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            target.write_bytes(_version(turn))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            try:
                data = stable_read(root, b"f", MIB, attempts=3, pause=lambda _: None).data
            except Unstable:
                continue
            assert data in (b"", _version(len(data) - 50_000))
    finally:
        stop.set()
        writer.join()


def _version(turn: int) -> bytes:
    """Never twice the same length, so that no two versions share a moment."""
    return bytes([turn % 251]) * (50_000 + turn)
