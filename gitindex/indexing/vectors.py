"""Vectors for chunks: from the embedder, and from a cache if the embedder is slow (SN-3)."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gitindex.errors import EmbeddingError
from gitindex.extract.embed.document import compose_embed_terms, compose_embed_text
from gitindex.model.ids import chunk_hash, sha256_hex
from gitindex.model.rows import Chunk
from gitindex.store import atomic

if TYPE_CHECKING:
    import numpy as np

    from gitindex.extract.embed.protocol import Embedder

CACHE_VECTORS = 200_000
_QUERY_KEYS = 500  # older SQLite allows 999 values per statement
_CHECKSUM_BYTES = 4  # before each cached vector


@runtime_checkable
class TermsEmbedder(Protocol):
    """An embedder that works on sub-words, and takes those that were already computed for the lexical index."""

    def embed_terms(self, terms: Sequence[str]) -> np.ndarray[Any, Any]: ...


class Vectors:
    """One embedder with its cache; without an embedder there are no vectors."""

    def __init__(self, embedder: Embedder | None, cache: VectorCache | None = None) -> None:
        self._embedder = embedder
        self._cache = cache
        self.dimension = embedder.dimension if embedder else 0
        self.identity = embedder.identity if embedder else "none"
        self.embedded = 0
        self.reused = 0

    @property
    def is_cheap(self) -> bool:
        """Whether every process may open its own embedder: one that needs a cache is too slow for that."""
        return self._cache is None

    def embed_chunks(self, chunks: Sequence[Chunk]) -> np.ndarray[Any, Any] | None:
        """One row per chunk, None without an embedder."""
        if self._embedder is None:
            return None
        import numpy as np

        keys = [_embedding_key(chunk) for chunk in chunks]
        cached = self._cache.get(keys) if self._cache else {}
        missing = {key: chunk for key, chunk in zip(keys, chunks, strict=True) if key not in cached}
        new_rows = dict(zip(missing, self._embed(list(missing.values())), strict=True))
        if self._cache is not None and new_rows:
            self._cache.put(new_rows)
        self.embedded += len(missing)
        self.reused += len(chunks) - len(missing)
        rows = {**cached, **new_rows}
        matrix = np.empty((len(chunks), self.dimension), np.float32)
        for index, key in enumerate(keys):
            matrix[index] = rows[key]
        return matrix

    def _embed(self, chunks: Sequence[Chunk]) -> np.ndarray[Any, Any]:
        assert self._embedder is not None
        import numpy as np

        if not chunks:
            return np.empty((0, self.dimension), np.float32)
        if isinstance(self._embedder, TermsEmbedder):
            rows = self._embedder.embed_terms(
                [compose_embed_terms(chunk.symbol, chunk.terms) for chunk in chunks]
            )
        else:
            rows = self._embedder.embed([compose_embed_text(chunk.symbol, chunk.text) for chunk in chunks])
        if rows.shape != (len(chunks), self.dimension):
            raise EmbeddingError(
                f"{self.identity} returned {rows.shape} vectors for {len(chunks)} chunks of {self.dimension}"
            )
        return rows


def _embedding_key(chunk: Chunk) -> str:
    """The hash of what is embedded: symbol and text, or the text alone where the chunk shows no definition."""
    return chunk_hash(f"{chunk.symbol}\n{chunk.chunk_hash}") if chunk.symbol else chunk.chunk_hash


class VectorCache:
    """Hash of what was embedded → vector, one file per embedder; bounded, least recently used entries are dropped.

    Losing it costs only time: a damaged file is replaced, a damaged vector counts as missing.
    """

    def __init__(self, folder: Path, identity: str, max_vectors: int = CACHE_VECTORS) -> None:
        atomic.make_folder(folder)
        self._max_vectors = max_vectors
        self._path = folder / f"{sha256_hex(identity.encode())[:16]}.sqlite"
        try:
            self._db = _open_cache(self._path)
        except sqlite3.DatabaseError as error:
            self._recreate(error)

    def get(self, hashes: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
        try:
            return self._get(hashes)
        except sqlite3.DatabaseError as error:
            self._recreate(error)
            return {}

    def _recreate(self, error: sqlite3.DatabaseError) -> None:
        """Replace a damaged database. Raises `error` if it has another cause, such as a full disk or a lock."""
        if isinstance(error, sqlite3.OperationalError):
            raise error
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._db = _open_cache(self._path)

    def _get(self, hashes: Sequence[str]) -> dict[str, np.ndarray[Any, Any]]:
        import numpy as np

        vectors: dict[str, np.ndarray[Any, Any]] = {}
        keys = [bytes.fromhex(name) for name in dict.fromkeys(hashes)]
        for start in range(0, len(keys), _QUERY_KEYS):
            batch = keys[start : start + _QUERY_KEYS]
            placeholders = ",".join("?" * len(batch))
            sql = f"SELECT hash, row FROM vector WHERE hash IN ({placeholders})"  # noqa: S608
            for key, row in self._db.execute(sql, batch):
                checksum, data = row[:_CHECKSUM_BYTES], row[_CHECKSUM_BYTES:]
                if checksum == _checksum(data):
                    vectors[key.hex()] = np.frombuffer(data, np.float32)
        now = int(time.time())
        self._db.execute("BEGIN")
        self._db.executemany(
            "UPDATE vector SET used = ? WHERE hash = ?", [(now, bytes.fromhex(name)) for name in vectors]
        )
        self._db.execute("COMMIT")
        return vectors

    def put(self, rows: dict[str, np.ndarray[Any, Any]]) -> None:
        now = int(time.time())
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT OR REPLACE INTO vector VALUES (?, ?, ?)",
            [
                (bytes.fromhex(name), _checksum(row.tobytes()) + row.tobytes(), now)
                for name, row in rows.items()
            ],
        )
        self._db.execute(
            "DELETE FROM vector WHERE hash IN (SELECT hash FROM vector ORDER BY used, hash LIMIT max(0, "
            "(SELECT count(*) FROM vector) - ?))",
            (self._max_vectors,),
        )
        self._db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()


def _open_cache(path: Path) -> sqlite3.Connection:
    atomic.create_missing(path)  # SQLite would use fewer permissions than a shared store needs (ST-3)
    db = sqlite3.connect(path, isolation_level=None, timeout=30)
    # Losing the newest entries in a crash only costs embedding them again.
    db.executescript(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
        "CREATE TABLE IF NOT EXISTS vector (hash BLOB PRIMARY KEY, row BLOB NOT NULL, used INTEGER NOT NULL)"
        " WITHOUT ROWID; CREATE INDEX IF NOT EXISTS vector_used ON vector (used);"
    )
    return db


def _checksum(row: bytes) -> bytes:
    return zlib.crc32(row).to_bytes(_CHECKSUM_BYTES, "big")
