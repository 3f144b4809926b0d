"""Meaning → chunks: the query's vector against every live vector, in one product.

Exact, and quick enough for hundreds of thousands of chunks; loaded once per snapshot in a warm process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gitindex.search.candidate import Key, RetrievedChunk
from gitindex.search.scope import SearchScope
from gitindex.view.snapshot import SnapshotView

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_COLUMNS = ["path_key", "ordinal", "kind", "language", "start_line", "end_line", "symbol", "symbol_kind"]


class DenseIndex:
    """All vectors of one snapshot and what names their rows."""

    def __init__(self, matrix: NDArray[np.float32], columns: dict[str, list[Any]]) -> None:
        self._matrix = matrix
        self._columns = [columns[name] for name in _COLUMNS]

    @classmethod
    def load(cls, view: SnapshotView) -> DenseIndex:
        return cls(*view.load_vectors(_COLUMNS))

    def score_query(self, vector: NDArray[np.float32]) -> VectorScores:
        import numpy as np

        # Rounded: sums of floats differ in their last bits between machines, and ties must not depend on that.
        return VectorScores(self, np.round(self._matrix @ vector, 5), bool(np.any(vector)))

    @cached_property
    def rows(self) -> dict[Key, int]:
        paths, ordinals, *_ = self._columns
        return {key: row for row, key in enumerate(zip(paths, ordinals, strict=True))}

    def select_rows(self, scope: SearchScope) -> NDArray[np.intp]:
        """Rows in scope."""
        import numpy as np

        paths, _, _, languages, _, _, _, kinds = self._columns
        if scope.is_unrestricted:
            return np.arange(len(paths))
        return np.flatnonzero(np.fromiter(map(scope.admits, paths, languages, kinds), np.bool_, len(paths)))

    def chunk_at(self, row: int) -> RetrievedChunk:
        return RetrievedChunk(*(column[row] for column in self._columns))


class VectorScores:
    """How near every chunk is to one query."""

    def __init__(self, index: DenseIndex, scores: NDArray[np.float32], has_known_words: bool) -> None:
        self._index = index
        self._scores = scores
        self._has_known_words = has_known_words  # a query without any known word is near to nothing

    @property
    def median(self) -> float:
        """The score of an ordinary chunk."""
        import numpy as np

        return float(np.median(self._scores)) if len(self._scores) else 0.0

    def find_nearest(self, scope: SearchScope, limit: int) -> list[tuple[float, RetrievedChunk]]:
        """Best first; equal scores in path order."""
        if not self._has_known_words:
            return []
        found = [
            (float(self._scores[row]), self._index.chunk_at(int(row)))
            for row in self._nearest_rows(scope, limit)
        ]
        found.sort(key=lambda hit: (-hit[0], hit[1].path, hit[1].ordinal))
        return found[:limit]

    def select_scores(self, keys: Iterable[Key]) -> dict[Key, float]:
        """The scores of these chunks, those that have a vector."""
        rows = self._index.rows
        return (
            {key: float(self._scores[rows[key]]) for key in keys if key in rows}
            if self._has_known_words
            else {}
        )

    def _nearest_rows(self, scope: SearchScope, limit: int) -> Sequence[Any]:
        """Rows at least as near as the last one wanted: more than that when scores are equal."""
        import numpy as np

        rows = self._index.select_rows(scope)
        if len(rows) <= limit:
            return list(rows)
        within = self._scores[rows]
        return list(rows[within >= np.partition(within, -limit)[-limit]])
