"""`SnapshotView`: the one blessed way to read a snapshot (SN-6, IDX.MUST.001).

Segments minus tombstones, pinned at open: what it answers never changes while it lives, whatever is published
meanwhile. A path's rows live in the newest segment that holds it and that no later tombstone hides. Artifacts are
proven before they are first read (SN-7). Nothing outside this package reads segments to answer a question.
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


SEMANTIC = "semantic"  # a segment that holds documents of `scip` and nothing else


class Row(NamedTuple):
    """A fact and the live path it belongs to."""

    path: str
    values: tuple[Any, ...]


class SnapshotView:
    """A pinned snapshot. Close it (or use `with`): it keeps gc away while open."""

    def __init__(
        self, layout: Layout, manifest: Manifest, lock: ReadersLock | None, verifier: Verifier
    ) -> None:
        self.layout = layout
        self.manifest = manifest
        self.verifier = verifier
        self._lock = lock
        self._facts: dict[str, Facts] = {}
        self._hidden: dict[str, int] | None = None
        self._lexical: LexicalIndex | None = None
        self._overlay: dict[str, OverlayEntry] | None = None
        self._scip: ScipView | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def unlocked(self) -> SnapshotView:
        """A view of the same snapshot that holds no lock: for a process that answers many questions and pins each
        time anew. What it has open stays readable after gc; it must not be asked for more while nobody pins."""
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
        """What the snapshot holds of a path, None when it holds nothing."""
        hidden = self._graves().get(path, -1)
        for at in range(len(self.manifest.segments) - 1, -1, -1):
            if at < hidden:
                return None
            if self.manifest.segments[at].kind == SEMANTIC:
                continue
            found = self.facts(at).record(path)
            if found is not None:
                return found
        return None

    def records(self) -> Iterator[FileRecord]:
        """All live records, indexed and skipped; no particular order between segments."""
        for at in range(len(self.manifest.segments)):
            yield from (record for record in self.facts(at).records() if self.live(at, record.path))

    def links(self) -> Iterator[FileRecord]:
        for at in range(len(self.manifest.segments)):
            yield from (record for record in self.facts(at).records("link = 1") if self.live(at, record.path))

    def folded(self, path: str) -> set[str]:
        """Live, indexed paths that differ from `path` at most in case or normalisation."""
        key = paths.casefold_key(path)
        return {
            other
            for at in range(len(self.manifest.segments))
            for other in self.facts(at).folded(key)
            if self.live(at, other) and not self._skipped(other)
        }

    def live(self, at: int, path: str) -> bool:
        """Is a row of `path` in segment number `at` part of the snapshot?"""
        return self._graves().get(path, -1) <= at

    def overlay(self) -> dict[str, OverlayEntry]:
        """Paths that were indexed from the working tree rather than from the commit."""
        if self._overlay is None:
            self._overlay = overlay.read(self.verifier.path(self.manifest.overlay))
        return self._overlay

    def forget_overlay(self) -> None:
        """Go on without the overlay (repair): every working-tree file is read again."""
        self._overlay = {}

    def segment_paths(self, at: int) -> list[FileRecord]:
        """The live records of one segment (compaction, repair)."""
        return [record for record in self.facts(at).records() if self.live(at, record.path)]

    def buried(self, run: range) -> list[str]:
        """Paths whose newest tombstone stands in these segments (compaction)."""
        return [path for path, at in self._graves().items() if at in run]

    # -- facts ---------------------------------------------------------------------------------

    def select(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[Row]:
        """Run a query over the facts of every segment; its first column must be `file.path`.

        Rows of hidden paths are dropped here, so no query can forget to.
        """
        for at in range(len(self.manifest.segments) - 1, -1, -1):
            if self.manifest.segments[at].kind == SEMANTIC:
                continue
            for path, *values in self.facts(at).query(sql, parameters):
                if isinstance(path, str) and self.live(at, path):
                    yield Row(path, tuple(values))

    def select_either(self, sql: str, plain: str, parameters: Mapping[str, object]) -> Iterator[Row]:
        """As `select`; segments that cannot run `sql` (no FTS5, no notes when it was written) run `plain`."""
        for at in range(len(self.manifest.segments) - 1, -1, -1):
            try:
                rows = list(self.facts(at).query(sql, parameters))
            except sqlite3.OperationalError:
                rows = list(self.facts(at).query(plain, parameters))
            for path, *values in rows:
                if isinstance(path, str) and self.live(at, path):
                    yield Row(path, tuple(values))

    def facts(self, at: int) -> Facts:
        segment = self.manifest.segments[at]
        if segment.id not in self._facts:
            self._facts[segment.id] = Facts(self.facts_path(at))
        return self._facts[segment.id]

    def facts_path(self, at: int) -> Path:
        return self.verifier.path(self._artifact(self.manifest.segments[at], "/facts.sqlite"))

    @property
    def scip(self) -> ScipView:
        """Exact facts, where they were imported (SE-8)."""
        if self._scip is None:
            artifacts = (artifact for segment in self.manifest.segments for artifact in segment.artifacts)
            found = [self.verifier.path(item) for item in artifacts if item.path.endswith("/scip.sqlite")]
            from gitindex.view.exact_facts import (
                ScipView,  # late: words and vectors need no exact facts (UI-3)
            )

            self._scip = ScipView(found, self._content)
        return self._scip

    def _content(self, path: str) -> str | None:
        record = self.record(path)
        return None if record is None or record.skip else record.content

    # -- chunks --------------------------------------------------------------------------------

    @property
    def lexical(self) -> LexicalIndex:
        if self._lexical is None:
            for artifact in self.manifest.lexical:
                self.verifier.path(artifact)
            self._lexical = LexicalIndex(self.layout.lexical(self._lexical_home()))
        return self._lexical

    def chunk_batches(self, at: int, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Live chunk rows of one segment; `columns` must include path_key."""
        import pyarrow as pa

        for batch in chunk_table.batches(self._table(at), columns, self.manifest.dimension):
            keep = [self.live(at, path) for path in batch.column("path_key").to_pylist()]
            kept = batch.filter(pa.array(keep, pa.bool_()))
            if kept.num_rows:
                yield kept

    def vectors(self, columns: list[str]) -> tuple[np.ndarray[Any, Any], dict[str, list[Any]]]:
        """Every live vector as one matrix with the columns that name its rows; `columns` includes path_key."""
        import numpy as np

        parts: list[np.ndarray[Any, Any]] = []
        names: dict[str, list[Any]] = {column: [] for column in columns}
        graves = self._graves()
        for at in range(len(self.manifest.segments)):
            matrix, found = chunk_table.vectors(self._table(at), columns, self.manifest.dimension)
            keep = [row for row, path in enumerate(found["path_key"]) if graves.get(path, -1) <= at]
            if len(keep) < len(matrix):
                matrix = matrix[keep]
                found = {column: [found[column][row] for row in keep] for column in columns}
            parts.append(matrix)
            for column in columns:
                names[column] += found[column]
        if len(parts) == 1:
            return parts[0], names  # a copy of every vector less
        return np.concatenate(parts) if parts else np.empty((0, self.manifest.dimension), np.float32), names

    def marker(self) -> dict[str, Any] | None:
        """The completion marker in the newest table (C-4)."""
        newest = self._table(len(self.manifest.segments) - 1)
        return chunk_table.read_marker(newest, self.manifest.dimension)

    def newest_table_noted(self) -> bool:
        """Is every file of the newest table the very file its publisher finished and noted?"""
        segment = self.manifest.segments[-1]
        files = [item for item in segment.artifacts if item.path.startswith(f"tables/{segment.id}.lance/")]
        return bool(files) and all(self.verifier.noted(item) for item in files)

    # -- inside --------------------------------------------------------------------------------

    def _table(self, at: int) -> Path:
        segment = self.manifest.segments[at]
        prefix = f"tables/{segment.id}.lance/"
        for artifact in segment.artifacts:
            if artifact.path.startswith(prefix):
                self.verifier.path(artifact)
        return self.layout.table(segment.id)

    def _graves(self) -> dict[str, int]:
        """path → number of the newest segment whose tombstones name it."""
        if self._hidden is None:
            hidden: dict[str, int] = {}
            for at, segment in enumerate(self.manifest.segments):
                if segment.tombstones is not None and segment.tombstones.count:
                    for path in tombstones.read(self.verifier.path(segment.tombstones.artifact)):
                        hidden[path] = at
            self._hidden = hidden
        return self._hidden

    def _skipped(self, path: str) -> bool:
        record = self.record(path)
        return record is None or bool(record.skip)

    def _artifact(self, segment: Segment, suffix: str) -> Artifact:
        for artifact in segment.artifacts:
            if artifact.path.endswith(suffix):
                return artifact
        raise StoreCorrupt(f"segment {segment.id} has no {suffix.strip('/')}", hint="gitindex repair")

    def _lexical_home(self) -> str:
        """The snapshot whose directory the lexical artifacts lie in."""
        return self.manifest.lexical[0].path.split("/")[1]


def open_active(layout: Layout) -> SnapshotView | None:
    """Pin the active snapshot: the readers lock first, then the pointer, so gc cannot slip between.

    None when nothing was ever published. Raises StoreCorrupt, IncompatibleVersion.
    """
    if not layout.readers.exists():
        return None
    lock = ReadersLock(layout)
    try:
        manifest = manifests.active(layout)
        if manifest is None:
            lock.close()
            return None
        return SnapshotView(layout, manifest, lock, Verifier(layout))
    except BaseException:
        lock.close()
        raise
