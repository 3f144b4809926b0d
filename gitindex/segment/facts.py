"""Facts of one segment in SQLite: files, symbols, imports, calls, identifiers, entities.

Written once into staging, then opened read-only and immutable. The `file` table is the segment's own
path → blob id map; a row with a `skip` says why a path is not indexed (EL-1).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from gitindex.model import paths, versions
from gitindex.model.records import FileRecord
from gitindex.segment.immutable import open_immutable

if TYPE_CHECKING:
    from gitindex.model.rows import Extraction

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE file (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, path_ci TEXT NOT NULL, blob TEXT NOT NULL, content TEXT NOT NULL,
  link INTEGER NOT NULL, size INTEGER NOT NULL, skip TEXT NOT NULL, language TEXT NOT NULL, lines INTEGER NOT NULL,
  chunks INTEGER NOT NULL, symbols INTEGER NOT NULL, edges INTEGER NOT NULL, entities INTEGER NOT NULL,
  parse_error INTEGER NOT NULL, truncated INTEGER NOT NULL, file_hash TEXT NOT NULL, interface_hash TEXT NOT NULL,
  text_only TEXT NOT NULL);
CREATE TABLE symbol (
  file INTEGER NOT NULL, ordinal INTEGER NOT NULL, name TEXT NOT NULL, qualified_name TEXT NOT NULL,
  kind TEXT NOT NULL, line INTEGER NOT NULL, column INTEGER NOT NULL, end_line INTEGER NOT NULL,
  end_column INTEGER NOT NULL, byte_start INTEGER NOT NULL, byte_end INTEGER NOT NULL, signature TEXT NOT NULL,
  doc TEXT NOT NULL, parent INTEGER NOT NULL, PRIMARY KEY (file, ordinal)) WITHOUT ROWID;
CREATE TABLE import (
  file INTEGER NOT NULL, ordinal INTEGER NOT NULL, module TEXT NOT NULL, name TEXT NOT NULL, alias TEXT NOT NULL,
  line INTEGER NOT NULL, PRIMARY KEY (file, ordinal)) WITHOUT ROWID;
CREATE TABLE call (
  file INTEGER PRIMARY KEY, callees TEXT NOT NULL, receivers TEXT NOT NULL, places BLOB NOT NULL);
CREATE TABLE callee (
  name TEXT NOT NULL, file INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (name, file)) WITHOUT ROWID;
CREATE TABLE identifier (
  name TEXT NOT NULL, file INTEGER NOT NULL, positions BLOB NOT NULL, PRIMARY KEY (name, file)) WITHOUT ROWID;
CREATE TABLE entity (
  file INTEGER PRIMARY KEY, topics TEXT NOT NULL, summary TEXT NOT NULL, created_at TEXT NOT NULL,
  session_id TEXT NOT NULL);
"""
_INDEXES = """
CREATE UNIQUE INDEX file_path ON file (path);
CREATE INDEX file_ci ON file (path_ci);
CREATE INDEX file_link ON file (path) WHERE link = 1;
CREATE INDEX symbol_name ON symbol (name COLLATE NOCASE);
CREATE INDEX import_module ON import (module);
CREATE INDEX entity_created ON entity (created_at) WHERE created_at != '';
"""
_ENTITY_FTS = """
CREATE VIRTUAL TABLE entity_fts USING fts5(topics, summary, content='entity', content_rowid='file');
INSERT INTO entity_fts(entity_fts) VALUES ('rebuild');
"""
FILE_COLUMNS = (
    "path, blob, content, link, size, skip, language, lines, chunks, symbols, edges, entities, "
    "parse_error, truncated, file_hash, interface_hash, text_only"
)
_ROWS_PER_INSERT = 64  # 3 values each; older SQLite allows 999 values per statement


class FactsWriter:
    """Writes a new facts file. `finish` builds the indexes and closes it."""

    def __init__(self, path: Path, segment_id: str) -> None:
        path.touch()  # SQLite would create it with fewer permissions than a shared store needs (ST-3)
        self._db = sqlite3.connect(f"file:{quote(str(path))}", uri=True, isolation_level=None)
        # The publish makes files durable, not SQLite: after a crash staging is deleted.
        self._db.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
            "PRAGMA page_size=8192; PRAGMA cache_size=-65536; PRAGMA temp_store=MEMORY;" + _SCHEMA
        )
        self._db.execute("BEGIN")
        version = str(versions.MATRIX["facts"].current)
        self._db.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("schema_version", version), ("segment_id", segment_id)]
        )
        self._next_file = 1
        self._callees: list[tuple[str, int, int]] = []
        self._identifiers: list[tuple[str, int, bytes]] = []

    def add(self, record: FileRecord, extraction: Extraction | None) -> None:
        file = self._next_file
        self._next_file += 1
        self._db.execute(
            "INSERT INTO file VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (file, record.path, paths.casefold_key(record.path), *record[1:]),
        )
        if extraction is None:
            return
        insert_many = self._db.executemany
        if extraction.symbols:
            insert_many(
                "INSERT INTO symbol VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                [(file, ordinal, *symbol) for ordinal, symbol in enumerate(extraction.symbols)],
            )
        if extraction.imports:
            insert_many(
                "INSERT INTO import VALUES (?,?,?,?,?,?)",
                [(file, ordinal, *item) for ordinal, item in enumerate(extraction.imports)],
            )
        if extraction.calls:
            from gitindex.model import callsites  # late: lexical searches do not need it (UI-3)

            numbers, packed = callsites.pack(extraction.calls)
            self._db.execute("INSERT INTO call VALUES (?,?,?,?)", (file, *packed))
            self._callees.extend((name, file, number) for name, number in numbers.items())
        self._identifiers.extend((name, file, positions) for name, positions in extraction.identifiers)
        if extraction.entity is not None:
            entity = extraction.entity
            self._db.execute(
                "INSERT INTO entity VALUES (?,?,?,?,?)",
                (file, json.dumps(entity.topics), entity.summary, entity.created_at, entity.session_id),
            )

    def copy(self, source: Path, live_paths: Sequence[str]) -> None:
        """Copy the rows of `live_paths` from another facts file (compaction)."""
        self._db.execute("COMMIT")
        self._db.execute("ATTACH ? AS old", (f"file:{quote(str(source))}?mode=ro&immutable=1",))
        self._db.execute("BEGIN")
        self._db.execute("CREATE TEMP TABLE live (path TEXT PRIMARY KEY) WITHOUT ROWID")
        self._db.executemany("INSERT INTO live VALUES (?)", [(path,) for path in live_paths])
        # Copied files get the next numbers, in their old order; `moved` maps old to new.
        first_file = self._next_file
        self._db.execute("CREATE TEMP TABLE moved (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
        self._db.execute(
            "INSERT INTO moved SELECT f.id, ? + row_number() OVER (ORDER BY f.id) - 1 "
            "FROM old.file f JOIN live USING (path)",
            (first_file,),
        )
        columns = "path, path_ci, " + FILE_COLUMNS.removeprefix("path, ")
        self._db.execute(
            f"INSERT INTO file SELECT m.new, {columns} FROM old.file f JOIN moved m ON m.old = f.id"  # noqa: S608
        )
        for table, select_list in _DEPENDENT_COLUMNS.items():
            self._db.execute(
                f"INSERT INTO {table} SELECT {select_list} FROM old.{table} t JOIN moved m ON m.old = t.file"  # noqa: S608
            )
        self._next_file += self._db.execute("SELECT count(*) FROM moved").fetchone()[0]
        self._db.execute("DROP TABLE moved")
        self._db.execute("DROP TABLE live")
        self._db.execute("COMMIT")
        self._db.execute("DETACH old")
        self._db.execute("BEGIN")

    def finish(self) -> None:
        # Sort by name only: the sort is stable, and files were added in ascending order.
        self._callees.sort(key=itemgetter(0))
        self._insert_rows("callee", self._callees)
        self._identifiers.sort(key=itemgetter(0))
        self._insert_rows("identifier", self._identifiers)
        self._db.execute("COMMIT")
        self._db.executescript(_INDEXES)
        self._index_entities()
        self._db.close()

    def _insert_rows(self, table: str, rows: Sequence[tuple[str, int, object]]) -> None:
        """Insert many rows per statement, which takes a third less time than one row each."""
        full_rows = len(rows) - len(rows) % _ROWS_PER_INSERT
        flat = [*chain.from_iterable(rows[:full_rows])]
        step = 3 * _ROWS_PER_INSERT
        self._db.executemany(
            f"INSERT INTO {table} VALUES {','.join(['(?,?,?)'] * _ROWS_PER_INSERT)}",  # noqa: S608
            (flat[start : start + step] for start in range(0, len(flat), step)),
        )
        self._db.executemany(f"INSERT INTO {table} VALUES (?,?,?)", rows[full_rows:])  # noqa: S608

    def _index_entities(self) -> None:
        """Build the full-text index of notes, if there are any and SQLite has FTS5; readers work without it (QU-5)."""
        if self._db.execute("SELECT 1 FROM entity LIMIT 1").fetchone() and has_fts5(self._db):
            self._db.executescript(_ENTITY_FTS)


# Per table with a `file` column: what `copy` selects from `old.<table> t JOIN moved m`.
_DEPENDENT_COLUMNS = {
    "symbol": "m.new, ordinal, name, qualified_name, kind, line, column, end_line, end_column, byte_start, "
    "byte_end, signature, doc, parent",
    "import": "m.new, ordinal, module, name, alias, line",
    "call": "m.new, callees, receivers, places",
    "callee": "name, m.new, number",
    "identifier": "name, m.new, positions",
    "entity": "m.new, topics, summary, created_at, session_id",
}


class Facts:
    """Read-only access to one facts file. Does not know other segments: only a view combines them (SN-6)."""

    def __init__(self, path: Path) -> None:
        self._db = open_immutable(path, "facts")

    def query(
        self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()
    ) -> Iterator[tuple[object, ...]]:
        return self._db.execute(sql, parameters)

    def record(self, path: str) -> FileRecord | None:
        row = self._db.execute(f"SELECT {FILE_COLUMNS} FROM file WHERE path = ?", (path,)).fetchone()  # noqa: S608
        return _make_record(row) if row else None

    def records(self, condition: str = "1") -> Iterator[FileRecord]:
        for row in self._db.execute(f"SELECT {FILE_COLUMNS} FROM file WHERE {condition} ORDER BY path"):  # noqa: S608
            yield _make_record(row)

    def paths(self) -> Iterator[str]:
        return (row[0] for row in self._db.execute("SELECT path FROM file"))

    def totals(self) -> tuple[int, int]:
        """The number of files, indexed and skipped, and of their chunks."""
        files, rows = self._db.execute("SELECT count(*), ifnull(sum(chunks), 0) FROM file").fetchone()
        return files, rows

    def find_case_variants(self, path_ci: str) -> list[str]:
        """Paths whose `casefold_key` is `path_ci`."""
        return [row[0] for row in self._db.execute("SELECT path FROM file WHERE path_ci = ?", (path_ci,))]

    def close(self) -> None:
        self._db.close()


def has_fts5(db: sqlite3.Connection) -> bool:
    return bool(
        db.execute("SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_FTS5'").fetchone()
    )


def _make_record(row: tuple[object, ...]) -> FileRecord:
    """A record from FILE_COLUMNS; SQLite stores booleans as integers."""
    record = FileRecord(*row)  # type: ignore[arg-type]
    return record._replace(
        link=bool(record.link), parse_error=bool(record.parse_error), truncated=bool(record.truncated)
    )
