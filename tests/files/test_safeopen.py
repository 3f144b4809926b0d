"""Nothing outside the root is ever opened (EL-3), with the kernel's help and without it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitindex.files import openat2
from gitindex.files.safeopen import IsLink, NotAFile, OutOfRoot, Root, Unreadable, Vanished

SECRET = b"outside"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/f").write_bytes(SECRET)
    where = tmp_path / "top"
    (where / "d/e").mkdir(parents=True)
    (where / "d/e/f").write_bytes(b"inside")
    (where / "f").write_bytes(b"top")
    return where


@pytest.fixture(params=["kernel", "fallback"])
def root(request: pytest.FixtureRequest, top: Path) -> Iterator[Root]:
    with Root(top, fallback=request.param == "fallback") as opened:
        yield opened


def content(root: Root, path: bytes) -> bytes:
    fd = root.open(path)
    try:
        return os.read(fd, 100)
    finally:
        os.close(fd)


def test_the_kernel_way_is_the_one_tested_here() -> None:
    assert openat2.is_supported()


def test_reads_regular_files(root: Root, top: Path) -> None:
    odd = b"sp ace\n\xff\"'"
    (top / os.fsdecode(odd)).write_bytes(b"odd")
    assert content(root, b"d/e/f") == b"inside"
    assert content(root, b"f") == b"top"
    assert content(root, odd) == b"odd"


@pytest.mark.parametrize(
    "path", [b"../out/f", b"d/../../out/f", b"/etc/passwd", b"", b".", b"d/./e/f", b"d//e", b"f\0"]
)
def test_paths_that_are_no_keys_are_refused(root: Root, path: bytes) -> None:
    """EL-3: traversal is refused before the file system is asked."""
    for attempt in (root.open, root.readlink, root.lstat):
        with pytest.raises(OutOfRoot):
            attempt(path)


def test_no_symlink_is_followed(root: Root, top: Path) -> None:
    """EL-3: not as the file, not as a directory on the way, not even to a target inside."""
    (top / "file_out").symlink_to("../out/f")
    (top / "file_in").symlink_to("f")
    (top / "dir_out").symlink_to("../out")
    (top / "dir_in").symlink_to("d")
    (top / "loop").symlink_to("loop")
    for path in (b"file_out", b"file_in", b"loop"):
        with pytest.raises(IsLink):
            root.open(path)
    for path in (b"dir_out/f", b"dir_in/e/f", b"loop/f"):
        with pytest.raises(OutOfRoot):
            root.open(path)
        with pytest.raises(OutOfRoot):
            root.readlink(path)
    assert root.readlink(b"file_out") == b"../out/f"
    assert root.readlink(b"loop") == b"loop"


def test_magic_links_of_proc_are_refused(tmp_path: Path) -> None:
    """EL-3: /proc/self/root leads anywhere, and is not followed."""
    with Root(Path("/proc/self")) as kernel, Root(Path("/proc/self"), fallback=True) as walked:
        for root in (kernel, walked):
            with pytest.raises(OutOfRoot):
                root.open(b"root/etc/passwd")


def test_what_is_not_there_is_vanished(root: Root) -> None:
    for path in (b"nope", b"d/nope/f", b"f/below"):
        with pytest.raises(Vanished):
            root.open(path)
    with pytest.raises(Vanished):
        root.readlink(b"nope")
    with pytest.raises(Vanished):
        root.lstat(b"d/nope")
    with pytest.raises(NotAFile):
        root.readlink(b"f")


def test_special_files_neither_hang_nor_open(root: Root, top: Path) -> None:
    """EL-1: a fifo without a writer would block forever."""
    os.mkfifo(top / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(top / "sock"))
        for path in (b"fifo", b"sock", b"d"):
            with pytest.raises(NotAFile):
                root.open(path)


def test_refused_permission_is_unreadable(root: Root, top: Path) -> None:
    """EL-1: as another user when we are root, by mode when we are not."""
    (top / "f").chmod(0)
    was = os.geteuid()
    try:
        if was == 0:
            os.seteuid(65534)
        with pytest.raises(Unreadable):
            root.open(b"f")
    finally:
        os.seteuid(was)


def test_too_long_a_name_is_unreadable(root: Root) -> None:
    with pytest.raises(Unreadable):
        root.open(b"x" * 300)


def test_swapping_a_directory_for_a_link_leaks_nothing(root: Root, top: Path) -> None:
    """EL-3, TOCTOU: a thread keeps replacing d/ by a link to the outside while we read 1,000 times."""
    (top.parent / "out/e").mkdir()
    (top.parent / "out/e/f").write_bytes(SECRET)
    (top / "link").symlink_to("../out")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(top / "d", top / "aside")
            os.rename(top / "link", top / "d")
            os.rename(top / "d", top / "link")
            os.rename(top / "aside", top / "d")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[bytes | type] = set()
    try:
        for _ in range(1000):
            try:
                seen.add(content(root, b"d/e/f"))
            except (OutOfRoot, Vanished) as refused:
                seen.add(type(refused))
    finally:
        stop.set()
        swapper.join()
    assert SECRET not in seen
    assert content(root, b"d/e/f") == b"inside"  # every round of swaps ends where it began
    assert len(os.listdir("/proc/self/fd")) < 100  # and no descriptor is left behind
