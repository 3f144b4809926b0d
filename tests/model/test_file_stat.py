"""Equal stats mean equal bytes (CS-3)."""

from __future__ import annotations

import os
from pathlib import Path

from gitindex.model.file_stat import NO_STAT, Stat


def test_every_field_counts():
    stat = Stat(1, 2, 3, 4)
    for field in Stat._fields:
        assert stat._replace(**{field: 9}) != stat


def test_a_file_of_the_same_size_and_mtime_is_another(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"one")
    before = path.stat()
    other = tmp_path / "other"
    other.write_bytes(b"two")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    assert Stat.of(path.stat()) != Stat.of(before)
    assert Stat.of(before) == (3, before.st_mtime_ns, before.st_ctime_ns, before.st_ino)


def test_an_unsettled_stat_matches_no_file():
    stat = Stat(1, 2, 3, 4)
    assert stat.is_settled
    assert stat.unsettled == (1, 2, 0, 4)
    assert not stat.unsettled.is_settled
    assert not NO_STAT.is_settled
