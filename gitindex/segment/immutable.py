"""Opens a finished SQLite file read-only and immutable, after checking its schema version."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from gitindex.errors import StoreCorrupt
from gitindex.model import versions


def open_immutable(path: Path, kind: str) -> sqlite3.Connection:
    """`kind` is the artifact's name in the compatibility matrix.

    Raises StoreCorrupt, IncompatibleVersion.
    """
    try:
        db = sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro&immutable=1",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
        )
        version = db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    except sqlite3.DatabaseError as error:
        raise StoreCorrupt(f"{kind} {path} cannot be read: {error}", hint="gitindex repair") from error
    versions.check(kind, int(version[0]) if version else None, str(path))
    return db
