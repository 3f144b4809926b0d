"""The digest of a live view (SN-10): equal for equal trees, whether built at once or by many syncs.

Covers files, chunks, symbols, edges, identifiers and entities. Leaves out what depends on history (ids of segments and
snapshots, times), and vectors, which follow from the chunks and the embedder in the fingerprint.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from gitindex.model import callsites
from gitindex.model.records import FileRecord
from gitindex.view.snapshot import SnapshotView

_FACT_QUERIES = {
    "symbol": "SELECT f.path, s.ordinal, name, qualified_name, kind, line, column, end_line, end_column, byte_start, "
    "byte_end, signature, doc, parent FROM symbol s JOIN file f ON f.id = s.file",
    "import": "SELECT f.path, i.ordinal, module, name, alias, line FROM import i JOIN file f ON f.id = i.file",
    "identifier": "SELECT f.path, name, positions FROM identifier i JOIN file f ON f.id = i.file",
    "entity": "SELECT f.path, topics, summary, created_at, session_id FROM entity e JOIN file f ON f.id = e.file",
}
_CALL_QUERY = "SELECT f.path, callees, receivers, places FROM call c JOIN file f ON f.id = c.file"
_CHUNK_COLUMNS = [
    "path_key", "ordinal", "kind", "chunk_hash", "row_id", "start_line", "end_line", "byte_start", "byte_end",
    "language", "symbol", "symbol_kind", "names", "file_hash",
]  # fmt: skip
_FIRST_EXTRACTED_FIELD = FileRecord._fields.index("language")  # this field and all after it are in the digest


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest, and how many of each it covers."""

    digest: str
    files: int
    chunks: int
    symbols: int
    edges: int
    entities: int


def compute_digest(view: SnapshotView) -> Digest:
    """Read every live row, and hash the rows sorted by path and content."""
    lines: dict[str, list[bytes]] = defaultdict(list)
    counts: dict[str, int] = defaultdict(int)
    for record in view.records():
        lines[record.path].append(_encode_line("file", _digested_values(record)))
        counts["file"] += not record.skip
    for index in range(len(view.manifest.segments)):
        for batch in view.chunk_batches(index, _CHUNK_COLUMNS):
            columns = (batch.column(name).to_pylist() for name in _CHUNK_COLUMNS)
            for path, *values in zip(*columns, strict=True):
                lines[path].append(_encode_line("chunk", tuple(values)))
                counts["chunk"] += 1
    for kind, sql in _FACT_QUERIES.items():
        for fact in view.select(sql):
            lines[fact.path].append(_encode_line(kind, fact.values))
            counts[kind] += 1
    for fact in view.select(_CALL_QUERY):
        for index, call in enumerate(callsites.unpack(*fact.values)):
            lines[fact.path].append(_encode_line("call", (index, *call)))
            counts["call"] += 1
    hasher = hashlib.sha256()
    for path in sorted(lines):
        hasher.update(_encode_line("path", (path,)))
        for line in sorted(lines[path]):
            hasher.update(line)
    return Digest(
        digest=hasher.hexdigest(),
        files=counts["file"],
        chunks=counts["chunk"],
        symbols=counts["symbol"],
        edges=counts["import"] + counts["call"],
        entities=counts["entity"],
    )


def _digested_values(record: FileRecord) -> tuple[Any, ...]:
    """Leaves out the size, and of skipped files everything that follows from their bytes."""
    if record.skip:
        return record.skip, record.link
    return record.blob, record.content, record.link, *record[_FIRST_EXTRACTED_FIELD:]


def _encode_line(kind: str, values: tuple[Any, ...]) -> bytes:
    return f"{kind}\0{values!r}\n".encode("utf-8", "surrogatepass")
