"""Finished SQLite files are opened read-only, and only in a version that this release reads (ST-6)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gitindex.errors import IncompatibleVersion, StoreCorrupt
from gitindex.model import versions
from gitindex.segment.immutable import open_immutable


def make(path: Path, version: int | None) -> Path:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        if version is not None:
            db.execute("INSERT INTO meta VALUES ('schema_version', ?)", (str(version),))
    return path


def test_a_file_of_this_release_is_read_and_never_written(tmp_path: Path) -> None:
    path = make(tmp_path / "name with ? and #.sqlite", versions.MATRIX["facts"].current)
    with closing(open_immutable(path, "facts")) as db:
        assert db.execute("SELECT count(*) FROM meta").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.execute("DELETE FROM meta")


@pytest.mark.parametrize("version", [None, versions.MATRIX["facts"].maximum + 1])
def test_another_version_is_named(tmp_path: Path, version: int | None) -> None:
    with pytest.raises(IncompatibleVersion, match=f"facts .* has schema version {version}"):
        open_immutable(make(tmp_path / "facts.sqlite", version), "facts")


def test_what_is_no_database_is_damage(tmp_path: Path) -> None:
    (tmp_path / "facts.sqlite").write_bytes(b"nothing of the kind")
    with pytest.raises(StoreCorrupt, match=r"facts .* cannot be read"):
        open_immutable(tmp_path / "facts.sqlite", "facts")
