"""Meaning → chunks: the query's vector against every live vector, in one product.

Exact, and quick enough for hundreds of thousands of chunks; loaded once per snapshot in a warm process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gitindex.search.candidate import Candidate, Key
from gitindex.search.scope import Scope
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

    def nearness(self, vector: NDArray[np.float32]) -> Nearness:
        import numpy as np

        # Rounded: sums of floats differ in their last bits between machines, and ties must not depend on that.
        return Nearness(self, np.round(self._matrix @ vector, 5), bool(np.any(vector)))

    @cached_property
    def rows(self) -> dict[Key, int]:
        paths, ordinals, *_ = self._columns
        return {key: row for row, key in enumerate(zip(paths, ordinals, strict=True))}

    def admitted(self, scope: Scope) -> NDArray[np.intp]:
        """Rows in scope."""
        import numpy as np

        paths, _, _, languages, _, _, _, kinds = self._columns
        if scope.open:
            return np.arange(len(paths))
        return np.flatnonzero(np.fromiter(map(scope.admits, paths, languages, kinds), np.bool_, len(paths)))

    def candidate(self, row: int) -> Candidate:
        return Candidate(*(column[row] for column in self._columns))


class Nearness:
    """How near every chunk is to one query."""

    def __init__(self, index: DenseIndex, scores: NDArray[np.float32], meant: bool) -> None:
        self._index = index
        self._scores = scores
        self._meant = meant  # a query without any known word is near to nothing

    @property
    def middle(self) -> float:
        """The score of an ordinary chunk."""
        import numpy as np

        return float(np.median(self._scores)) if len(self._scores) else 0.0

    def nearest(self, scope: Scope, limit: int) -> list[tuple[float, Candidate]]:
        """Best first; equal scores in path order."""
        if not self._meant:
            return []
        found = [
            (float(self._scores[row]), self._index.candidate(int(row))) for row in self._best(scope, limit)
        ]
        found.sort(key=lambda hit: (-hit[0], hit[1].path, hit[1].ordinal))
        return found[:limit]

    def of(self, keys: Iterable[Key]) -> dict[Key, float]:
        """The scores of these chunks, those that have a vector."""
        rows = self._index.rows
        return {key: float(self._scores[rows[key]]) for key in keys if key in rows} if self._meant else {}

    def _best(self, scope: Scope, limit: int) -> Sequence[Any]:
        """Rows at least as near as the last one wanted: more than that when scores are equal."""
        import numpy as np

        rows = self._index.admitted(scope)
        if len(rows) <= limit:
            return list(rows)
        within = self._scores[rows]
        return list(rows[within >= np.partition(within, -limit)[-limit]])
