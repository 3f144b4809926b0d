"""The control file of a store: contexts, refresh jobs and decisions, the data that changes (C-5).

A database in WAL mode with one short transaction per change. Facts are immutable and stored elsewhere. Every function
takes the connection; times are arguments, so tests need no clock.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gitindex.errors import IncompatibleVersion
from gitindex.model import versions
from gitindex.semantic.contexts import Context
from gitindex.semantic.mutation import Decision
from gitindex.store import atomic

# Nothing writes `repo_state`. Dropping it would change the version of the schema, and with it the name of every store.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS semantic_schema (version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS contexts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    language TEXT NOT NULL,
    root TEXT NOT NULL,
    config_hash TEXT NOT NULL,
    tool_version TEXT NOT NULL DEFAULT '',
    enabled INTEGER NOT NULL DEFAULT 1,
    refreshed_at REAL,
    refreshed_head TEXT,
    UNIQUE (language, root)
);
CREATE TABLE IF NOT EXISTS refresh_jobs (
    id INTEGER PRIMARY KEY,
    context_id INTEGER NOT NULL REFERENCES contexts(id),
    status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'superseded', 'failed')),
    scope TEXT,
    trigger_reason TEXT NOT NULL DEFAULT '',
    head_at_enqueue TEXT NOT NULL,
    created_at REAL NOT NULL,
    started_at REAL,
    finished_at REAL,
    heartbeat_at REAL,
    worker TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    superseded_reason TEXT,
    error TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS one_queued ON refresh_jobs (context_id) WHERE status = 'queued';
CREATE UNIQUE INDEX IF NOT EXISTS one_running ON refresh_jobs (context_id) WHERE status = 'running';
CREATE TABLE IF NOT EXISTS repo_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_seen_head TEXT,
    last_seen_index_mtime REAL,
    checked_at REAL
);
CREATE TABLE IF NOT EXISTS decision_cache (
    id INTEGER PRIMARY KEY,
    ambiguity_signature TEXT NOT NULL,
    repo_head TEXT NOT NULL,
    file_hashes TEXT NOT NULL,
    decision TEXT NOT NULL,
    proof_payload TEXT NOT NULL,
    created_at REAL NOT NULL,
    UNIQUE (ambiguity_signature, repo_head)
);
"""


class ContextRow(NamedTuple):
    id: int
    name: str
    language: str
    root: str
    config_hash: str
    tool_version: str
    enabled: bool
    refreshed_at: float | None
    refreshed_head: str | None


def open_control(path: Path, *, busy_seconds: float = 10.0) -> sqlite3.Connection:
    """Open the control file, or create it. Raises IncompatibleVersion for one from a newer release (ST-6)."""
    with suppress(OSError):  # `sqlite3.connect` reports the same failure
        atomic.create_missing(path)
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    current_version = versions.MATRIX["control"].current
    with transaction(connection):
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        version_row = connection.execute("SELECT version FROM semantic_schema").fetchone()
        if version_row is None:
            connection.execute("INSERT INTO semantic_schema VALUES (?)", (current_version,))
        elif version_row[0] != current_version:
            raise IncompatibleVersion(
                f"{path.name} has semantic schema version {version_row[0]}, this release reads {current_version}",
                hint="gitindex upgrade-store",
            )
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Takes the write lock at the start, so that nothing read inside can change before the commit."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


# -- contexts ----------------------------------------------------------------------------------------


def register_contexts(
    connection: sqlite3.Connection, discovered: Iterable[Context], tool_versions: Mapping[str, str]
) -> list[ContextRow]:
    """Store the discovered contexts. Contexts that are gone are disabled, not deleted."""
    with transaction(connection):
        connection.execute("UPDATE contexts SET enabled = 0")
        for context in discovered:
            connection.execute(
                "INSERT INTO contexts (name, language, root, config_hash, tool_version) "
                "VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (language, root) DO UPDATE SET name = excluded.name, enabled = 1, "
                "config_hash = excluded.config_hash, tool_version = excluded.tool_version",
                (
                    context.id,
                    context.language,
                    context.root,
                    context.config_hash,
                    tool_versions.get(context.language, ""),
                ),
            )
    return read_contexts(connection)


def read_contexts(connection: sqlite3.Connection, *, enabled_only: bool = True) -> list[ContextRow]:
    condition = "WHERE enabled = 1" if enabled_only else ""
    rows = connection.execute(f"SELECT * FROM contexts {condition} ORDER BY language, root")  # noqa: S608
    return [ContextRow(**{**dict(row), "enabled": bool(row["enabled"])}) for row in rows]


# -- decisions ----------------------------------------------------------------------------------------


def save_decision(connection: sqlite3.Connection, decision: Decision, now: float) -> None:
    """Store an answer. It replaces an earlier one to the same question at the same HEAD."""
    with transaction(connection):
        connection.execute(
            "INSERT OR REPLACE INTO decision_cache (ambiguity_signature, repo_head, file_hashes, decision, "
            "proof_payload, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            (
                decision.signature,
                decision.head,
                json.dumps(dict(decision.file_hashes), sort_keys=True),
                decision.choice,
                decision.proof,
                now,
            ),
        )


def find_decision(connection: sqlite3.Connection, signature: str, head: str) -> Decision | None:
    row = connection.execute(
        "SELECT * FROM decision_cache WHERE ambiguity_signature = ? AND repo_head = ?", (signature, head)
    ).fetchone()
    if row is None:
        return None
    return Decision(
        signature=signature,
        head=head,
        file_hashes=json.loads(row["file_hashes"]),
        choice=row["decision"],
        proof=row["proof_payload"],
    )
