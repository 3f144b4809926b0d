"""Chunk rows as a LanceDB table: one table per segment, written once, never changed (SN-1).

Written and read with `lance`, the format's own library: a LanceDB client can open the same tables, but importing the
client would add a second to every sync. The newest table of a snapshot also holds the completion marker (C-4): a
reserved row that readers of chunks filter out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitindex.errors import StoreCorrupt
from gitindex.model import ids, paths, versions

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from gitindex.model.rows import Chunk

MARKER_KIND = "gitindex_index_completion_v1"
_BATCH_ROWS = 4096
_FILE_COLUMNS = ("path_key", "path_key_ci", "file_hash", "language")


def load() -> None:
    """Import `lance` now, before the first table needs it."""
    import lance  # noqa: F401


def table_schema(dimension: int) -> pa.Schema:
    """ChunkRow v1. `embedding` is absent, not empty, when the index has no vectors."""
    import pyarrow as pa

    fields = [
        pa.field("row_id", pa.string(), nullable=False),
        pa.field("chunk_id", pa.string(), nullable=False),
        pa.field("path_key", pa.string(), nullable=False),
        pa.field("path_key_ci", pa.string(), nullable=False),
        pa.field("ordinal", pa.uint32(), nullable=False),
        pa.field("file_hash", pa.binary(32), nullable=False),
        pa.field("chunk_hash", pa.binary(32), nullable=False),
        pa.field("chunker_version", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        # Lance's default encoding: zstd would take longer here and save nothing, since uploads are compressed anyway.
        pa.field("text", pa.string(), nullable=False),
        pa.field("start_line", pa.uint32()),
        pa.field("end_line", pa.uint32()),
        pa.field("byte_start", pa.uint64()),
        pa.field("byte_end", pa.uint64()),
        pa.field("language", pa.string()),
        pa.field("symbol", pa.string()),
        pa.field("symbol_kind", pa.string()),
        pa.field("names", pa.string()),
    ]
    if dimension:
        fields.append(pa.field("embedding", pa.list_(pa.float32(), dimension), nullable=False))
    version = str(versions.MATRIX["chunk_rows"].current)
    return pa.schema(fields, metadata={b"gitindex:chunk_row_schema": version.encode()})


class ChunkTableWriter:
    """Collects rows in Arrow batches; `finish` writes them as one table version."""

    def __init__(self, path: Path, dimension: int, chunker_version: str) -> None:
        self._path = path
        self._dimension = dimension
        self._chunker_version = chunker_version
        self._schema = table_schema(dimension)
        self._batches: list[pa.RecordBatch] = []
        self._files: list[tuple[str, str, str, str, int]] = []  # values of _FILE_COLUMNS, number of chunks
        self._chunks: list[Chunk] = []
        self._vectors: list[Any] = []
        self.rows = 0

    def add(
        self, path: str, file_hash: str, language: str, chunks: Sequence[Chunk], vectors: Sequence[Any]
    ) -> None:
        """Add one file's chunks; `vectors` has one row per chunk, or is empty without an embedder."""
        self._files.append((path, paths.casefold_key(path), file_hash, language, len(chunks)))
        self._chunks.extend(chunks)
        self._vectors.extend(vectors)
        self.rows += len(chunks)
        if len(self._chunks) >= _BATCH_ROWS:
            self._flush()

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows of another table unchanged (compaction)."""
        self._flush()
        self._batches.append(batch.cast(self._schema))
        self.rows += batch.num_rows

    def finish(self, marker: dict[str, Any] | None) -> None:
        import lance
        import pyarrow as pa

        self._flush()
        if marker is not None:
            self._batches.append(self._marker_batch(marker))
        table = pa.Table.from_batches(self._batches, schema=self._schema)
        lance.write_dataset(table, str(self._path), data_storage_version="2.1")
        self._batches = []

    def _marker_batch(self, marker: dict[str, Any]) -> pa.RecordBatch:
        import pyarrow as pa

        row: dict[str, Any] = dict.fromkeys(self._schema.names, "")
        row |= dict.fromkeys(("ordinal", "start_line", "end_line", "byte_start", "byte_end"), 0)
        row |= dict.fromkeys(("file_hash", "chunk_hash"), bytes(32))
        row |= {"row_id": MARKER_KIND, "kind": MARKER_KIND, "chunker_version": self._chunker_version}
        row["text"] = json.dumps(marker, sort_keys=True)
        if self._dimension:
            row["embedding"] = [0.0] * self._dimension
        return pa.RecordBatch.from_pylist([row], schema=self._schema)

    def _flush(self) -> None:
        """Build a batch from the collected chunks, column by column, which is faster than row by row."""
        import pyarrow as pa

        if not self._chunks:
            return
        columns: dict[str, Any] = dict(
            zip(self._chunks[0]._fields, zip(*self._chunks, strict=True), strict=True)
        )
        columns |= self._file_columns()
        columns["chunker_version"] = [self._chunker_version] * len(self._chunks)
        columns["chunk_id"] = [
            *map(ids.chunk_id, columns["chunk_hash"], columns["chunker_version"], columns["kind"])
        ]
        columns["row_id"] = [*map(ids.row_id, columns["path_key"], columns["chunk_id"], columns["ordinal"])]
        columns["file_hash"] = _digest_array(columns["file_hash"])
        columns["chunk_hash"] = _digest_array(columns["chunk_hash"])
        if self._dimension:
            columns["embedding"] = self._vector_column()
        arrays = [
            column if isinstance(column := columns[field.name], pa.Array) else pa.array(column, field.type)
            for field in self._schema
        ]
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._files = []
        self._chunks = []
        self._vectors = []

    def _file_columns(self) -> dict[str, list[str]]:
        """The columns of the file, each value repeated for every chunk of its file."""
        *values, counts = zip(*self._files, strict=True)
        return {
            name: [*chain.from_iterable(map(repeat, column, counts))]
            for name, column in zip(_FILE_COLUMNS, values, strict=True)
        }

    def _vector_column(self) -> pa.Array:
        import numpy as np
        import pyarrow as pa

        flat = np.asarray(self._vectors, dtype=np.float32).reshape(-1)
        return pa.FixedSizeListArray.from_arrays(pa.array(flat), self._dimension)


def _digest_array(hexadecimal: Sequence[str]) -> pa.Array:
    import pyarrow as pa

    data = pa.py_buffer(bytes.fromhex("".join(hexadecimal)))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(32), len(hexadecimal), [None, data])


def open_table(path: Path, dimension: int | None = None) -> Any:
    """The dataset at `path`. With `dimension`, raises StoreCorrupt unless the schema is ChunkRow v1."""
    import lance

    table = lance.dataset(str(path))
    flaw = find_schema_flaw(table.schema, dimension) if dimension is not None else ""
    if flaw:
        raise StoreCorrupt(f"table {path.name} {flaw}", hint="gitindex repair")
    return table


def find_schema_flaw(schema: pa.Schema, dimension: int) -> str:
    """How a table's schema differs from ChunkRow v1 with vectors of `dimension`; "" if it does not. Reads no row."""
    expected = table_schema(dimension)
    for field in expected:
        if field.name not in schema.names:
            return f"has no column {field.name}"
        if not schema.field(field.name).equals(field):
            return f"has a column {schema.field(field.name)} instead of {field}"
    surplus = [name for name in schema.names if name not in expected.names]
    if surplus:
        return f"has a column {surplus[0]} that the schema does not know"
    if schema.names != expected.names or schema.metadata != expected.metadata:
        return f"has columns or metadata of another schema: {schema.metadata or schema.names}"
    return ""


def count_markers(table: Any) -> int:
    """The number of completion markers in an open table. Reads only the column `kind`."""
    marker_count: int = table.count_rows(filter=f"kind = '{MARKER_KIND}'")
    return marker_count


def read_batches(
    path: Path, columns: list[str] | None = None, dimension: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Chunk rows without the marker, in table order."""
    yield from open_table(path, dimension).to_batches(columns=columns, filter=f"kind != '{MARKER_KIND}'")


def read_marker(path: Path, dimension: int | None = None) -> dict[str, Any] | None:
    """The completion marker of a table, None when it has none. Raises ValueError when it is not JSON."""
    texts = (
        open_table(path, dimension)
        .to_table(columns=["text"], filter=f"kind = '{MARKER_KIND}'")
        .column("text")
        .to_pylist()
    )
    if not texts:
        return None
    payload: dict[str, Any] = json.loads(texts[0])
    return payload


def read_vectors(
    path: Path, columns: list[str], dimension: int
) -> tuple[np.ndarray[Any, Any], dict[str, list[Any]]]:
    """All vectors of a table as one matrix, and `columns` of the same rows."""
    import numpy as np

    read_columns = [*columns, "embedding"]
    table = open_table(path, dimension).to_table(columns=read_columns, filter=f"kind != '{MARKER_KIND}'")
    column = table.column("embedding").combine_chunks()
    flat = column.flatten().to_numpy(zero_copy_only=False) if len(column) else np.empty(0, np.float32)
    return flat.reshape(-1, dimension), {name: table.column(name).to_pylist() for name in columns}
