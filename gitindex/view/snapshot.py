"""`SnapshotView`: the only way to read a snapshot (SN-6, IDX.MUST.001).

A view shows the rows of all segments that no later tombstone hides. It keeps its snapshot while it is open, whatever is
published meanwhile. The rows of a path are in the newest segment that holds it, unless a later tombstone hides them.
Artifacts are verified before they are first read (SN-7).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from gitindex.errors import StoreCorrupt
from gitindex.model import paths
from gitindex.model.manifest import Artifact, Manifest, Segment
from gitindex.model.records import FileRecord, OverlayEntry
from gitindex.segment import chunk_table, overlay, tombstones
from gitindex.segment.facts import Facts
from gitindex.segment.lexical_index import LexicalIndex
from gitindex.store import manifests
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.store.readers import ReadersLock

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from gitindex.view.exact_facts import ScipView


EXACT_KIND = "semantic"  # `kind` of an exact segment: it holds documents (`scip.sqlite`) and no chunks


class FactRow(NamedTuple):
    """A fact and the live path it belongs to."""

    path: str
    values: tuple[Any, ...]


class SnapshotView:
    """An open snapshot. Close it (or use `with`): gc waits while it is open."""

    def __init__(
        self, layout: Layout, manifest: Manifest, lock: ReadersLock | None, verifier: Verifier
    ) -> None:
        self.layout = layout
        self.manifest = manifest
        self.verifier = verifier
        self._lock = lock
        self._facts: dict[str, Facts] = {}
        self._tombstone_segments: dict[str, int] | None = None
        self._lexical: LexicalIndex | None = None
        self._overlay: dict[paths.PathKey, OverlayEntry] | None = None
        self._scip: ScipView | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def copy_without_lock(self) -> SnapshotView:
        """A view of the same snapshot without the readers lock, for a server that takes the lock for each question.

        Files that it has open stay readable after gc; open further ones only while the caller holds the lock.
        """
        return SnapshotView(self.layout, self.manifest, None, self.verifier)

    def close(self) -> None:
        for facts in self._facts.values():
            facts.close()
        self._facts = {}
        if self._scip is not None:
            self._scip.close()
            self._scip = None
        if self._lock is not None:
            self._lock.close()

    # -- paths ---------------------------------------------------------------------------------

    def record(self, path: str) -> FileRecord | None:
        """The live record of a path, None without one."""
        tombstone_segment = self._newest_tombstones().get(path, -1)
        for segment_number in range(len(self.manifest.segments) - 1, -1, -1):
            if segment_number < tombstone_segment:
                return None
            if self.manifest.segments[segment_number].kind == EXACT_KIND:
                continue
            file_record = self.facts(segment_number).record(path)
            if file_record is not None:
                return file_record
        return None

    def records(self) -> Iterator[FileRecord]:
        """All live records, of indexed and skipped files, segment by segment."""
        for segment_number in range(len(self.manifest.segments)):
            yield from (
                record
                for record in self.facts(segment_number).records()
                if self.is_live(segment_number, record.path)
            )

    def link_records(self) -> Iterator[FileRecord]:
        """The live records of symbolic links."""
        for segment_number in range(len(self.manifest.segments)):
            yield from (
                record
                for record in self.facts(segment_number).records("link = 1")
                if self.is_live(segment_number, record.path)
            )

    def find_case_variants(self, path: str) -> set[str]:
        """Live, indexed paths that differ from `path` at most in case or normalisation."""
        key = paths.casefold_key(path)
        return {
            other
            for segment_number in range(len(self.manifest.segments))
            for other in self.facts(segment_number).find_case_variants(key)
            if self.is_live(segment_number, other) and not self._is_skipped(other)
        }

    def is_live(self, segment_number: int, path: str) -> bool:
        """Whether rows of `path` in this segment are part of the snapshot: no later segment has a tombstone for it."""
        return self._newest_tombstones().get(path, -1) <= segment_number

    def overlay(self) -> dict[paths.PathKey, OverlayEntry]:
        """Paths that were indexed from the working tree rather than from the commit."""
        if self._overlay is None:
            self._overlay = overlay.read(self.verifier.verified_path(self.manifest.overlay))
        return self._overlay

    def forget_overlay(self) -> None:
        """Use an empty overlay from now on (repair), so that every file of the working tree is read again."""
        self._overlay = {}

    def segment_records(self, segment_number: int) -> list[FileRecord]:
        """The live records of one segment (compaction, repair)."""
        return [
            record
            for record in self.facts(segment_number).records()
            if self.is_live(segment_number, record.path)
        ]

    def find_tombstoned_paths(self, run: range) -> list[str]:
        """Paths whose newest tombstone is in one of these segments (compaction)."""
        return [path for path, segment_number in self._newest_tombstones().items() if segment_number in run]

    # -- facts ---------------------------------------------------------------------------------

    def select(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[FactRow]:
        """Run a query over the facts of every segment; its first column must be `file.path`.

        Drops the rows of hidden paths, so that no query has to.
        """
        for segment_number in range(len(self.manifest.segments) - 1, -1, -1):
            if self.manifest.segments[segment_number].kind == EXACT_KIND:
                continue
            for path, *values in self.facts(segment_number).query(sql, parameters):
                if isinstance(path, str) and self.is_live(segment_number, path):
                    yield FactRow(path, tuple(values))

    def select_with_fallback(
        self, sql: str, fallback_sql: str, parameters: Mapping[str, object]
    ) -> Iterator[FactRow]:
        """As `select`; segments that cannot run `sql` (written without FTS5, or without notes) run `fallback_sql`."""
        for segment_number in range(len(self.manifest.segments) - 1, -1, -1):
            try:
                rows = list(self.facts(segment_number).query(sql, parameters))
            except sqlite3.OperationalError:
                rows = list(self.facts(segment_number).query(fallback_sql, parameters))
            for path, *values in rows:
                if isinstance(path, str) and self.is_live(segment_number, path):
                    yield FactRow(path, tuple(values))

    def facts(self, segment_number: int) -> Facts:
        segment = self.manifest.segments[segment_number]
        if segment.id not in self._facts:
            self._facts[segment.id] = Facts(self.facts_path(segment_number))
        return self._facts[segment.id]

    def facts_path(self, segment_number: int) -> Path:
        return self.verifier.verified_path(
            self._find_artifact(self.manifest.segments[segment_number], "/facts.sqlite")
        )

    @property
    def scip(self) -> ScipView:
        """Exact facts, where they were imported (SE-8)."""
        if self._scip is None:
            from gitindex.view.exact_facts import ScipView  # late: most searches need no exact facts (UI-3)

            scip_paths = [
                self.verifier.verified_path(artifact)
                for segment in self.manifest.segments
                for artifact in exact_artifacts(segment)
            ]
            self._scip = ScipView(scip_paths, self._content_id)
        return self._scip

    def _content_id(self, path: str) -> str | None:
        """The blob id of the bytes that were indexed for a path, None when it is not indexed."""
        record = self.record(path)
        return None if record is None or record.skip else record.content

    # -- chunks --------------------------------------------------------------------------------

    @property
    def lexical(self) -> LexicalIndex:
        if self._lexical is None:
            for artifact in self.manifest.lexical:
                self.verifier.verified_path(artifact)
            self._lexical = LexicalIndex(self.layout.lexical(self._lexical_snapshot_id()))
        return self._lexical

    def chunk_batches(
        self, segment_number: int, columns: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Live chunk rows of one segment; `columns` must include path_key."""
        import pyarrow as pa

        for batch in chunk_table.read_batches(
            self._verified_table(segment_number), columns, self.manifest.dimension
        ):
            mask = [self.is_live(segment_number, path) for path in batch.column("path_key").to_pylist()]
            live_rows = batch.filter(pa.array(mask, pa.bool_()))
            if live_rows.num_rows:
                yield live_rows

    def load_vectors(self, columns: list[str]) -> tuple[np.ndarray[Any, Any], dict[str, list[Any]]]:
        """Every live vector as one matrix, and `columns` (which include path_key) of the same rows."""
        import numpy as np

        matrices: list[np.ndarray[Any, Any]] = []
        all_columns: dict[str, list[Any]] = {column: [] for column in columns}
        tombstone_segments = self._newest_tombstones()
        for segment_number in range(len(self.manifest.segments)):
            matrix, row_columns = chunk_table.read_vectors(
                self._verified_table(segment_number), columns, self.manifest.dimension
            )
            live_rows = [
                row
                for row, path in enumerate(row_columns["path_key"])
                if tombstone_segments.get(path, -1) <= segment_number
            ]
            if len(live_rows) < len(matrix):
                matrix = matrix[live_rows]
                row_columns = {column: [row_columns[column][row] for row in live_rows] for column in columns}
            matrices.append(matrix)
            for column in columns:
                all_columns[column] += row_columns[column]
        if len(matrices) == 1:
            return matrices[0], all_columns  # avoids copying every vector
        empty = np.empty((0, self.manifest.dimension), np.float32)
        return (np.concatenate(matrices) if matrices else empty), all_columns

    def read_marker(self) -> dict[str, Any] | None:
        """The completion marker in the newest table (C-4)."""
        newest = self._verified_table(len(self.manifest.segments) - 1)
        return chunk_table.read_marker(newest, self.manifest.dimension)

    def is_newest_table_cached(self) -> bool:
        """Whether the checksum cache has an entry for every file of the newest table."""
        segment = self.manifest.segments[-1]
        files = _table_artifacts(segment)
        return bool(files) and all(self.verifier.is_cached(artifact) for artifact in files)

    # -- inside --------------------------------------------------------------------------------

    def _verified_table(self, segment_number: int) -> Path:
        segment = self.manifest.segments[segment_number]
        for artifact in _table_artifacts(segment):
            self.verifier.verified_path(artifact)
        return self.layout.table(segment.id)

    def _newest_tombstones(self) -> dict[str, int]:
        """path → number of the newest segment that has a tombstone for it."""
        if self._tombstone_segments is None:
            tombstone_segments: dict[str, int] = {}
            for segment_number, segment in enumerate(self.manifest.segments):
                if segment.tombstones is not None and segment.tombstones.count:
                    for path in tombstones.read(self.verifier.verified_path(segment.tombstones.artifact)):
                        tombstone_segments[path] = segment_number
            self._tombstone_segments = tombstone_segments
        return self._tombstone_segments

    def _is_skipped(self, path: str) -> bool:
        record = self.record(path)
        return record is None or bool(record.skip)

    def _find_artifact(self, segment: Segment, suffix: str) -> Artifact:
        for artifact in segment.artifacts:
            if artifact.path.endswith(suffix):
                return artifact
        raise StoreCorrupt(f"segment {segment.id} has no {suffix.strip('/')}", hint="gitindex repair")

    def _lexical_snapshot_id(self) -> str:
        """The snapshot id in the paths of the lexical artifacts (`lexical/<snapshot id>/…`)."""
        return self.manifest.lexical[0].path.split("/")[1]


def exact_artifacts(segment: Segment) -> list[Artifact]:
    """The scip file of a segment, if it has one."""
    return [artifact for artifact in segment.artifacts if artifact.path.endswith("/scip.sqlite")]


def _table_artifacts(segment: Segment) -> list[Artifact]:
    prefix = f"tables/{segment.id}.lance/"
    return [artifact for artifact in segment.artifacts if artifact.path.startswith(prefix)]


def open_active(layout: Layout) -> SnapshotView | None:
    """Open the active snapshot: takes the readers lock before it reads the pointer, so that gc cannot run in between.

    None when nothing was ever published. Raises StoreCorrupt, IncompatibleVersion.
    """
    if not layout.readers_lock.exists():
        return None
    lock = ReadersLock(layout)
    try:
        manifest = manifests.read_active(layout)
        if manifest is None:
            lock.close()
            return None
        return SnapshotView(layout, manifest, lock, Verifier(layout))
    except BaseException:
        lock.close()
        raise
