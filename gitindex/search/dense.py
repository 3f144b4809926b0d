"""Meaning → chunks: the query's vector against every live vector, in one product.

Exact, and quick enough for hundreds of thousands of chunks; loaded once per snapshot in a warm process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gitindex.search.candidate import Candidate
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
        return cls(*view.vectors(_COLUMNS))

    def find(self, vector: NDArray[np.float32], scope: Scope, limit: int) -> list[tuple[float, Candidate]]:
        """Nearest chunks in scope, best first; equal scores in path order."""
        import numpy as np

        if not len(self._matrix) or not np.any(vector):
            return []
        scores = self._matrix @ vector
        rows = self._best(scores, scope, limit)
        # Sums of floats differ in their last bits between machines; ties must not depend on that.
        found = [(round(float(scores[row]), 5), self._candidate(int(row))) for row in rows]
        found.sort(key=lambda hit: (-hit[0], hit[1].path, hit[1].ordinal))
        return found[:limit]

    def _best(self, scores: NDArray[np.float32], scope: Scope, limit: int) -> Sequence[Any]:
        import numpy as np

        rows = np.arange(len(scores)) if scope.open else np.flatnonzero(self._mask(scope))
        if len(rows) <= limit:
            return list(rows)
        within = scores[rows]
        threshold = np.partition(within, -limit)[-limit]
        return list(rows[within >= threshold - 1e-5])

    def _mask(self, scope: Scope) -> NDArray[np.bool_]:
        import numpy as np

        paths, _, _, languages, _, _, _, kinds = self._columns
        allowed = map(scope.admits, paths, languages, kinds)
        return np.fromiter(allowed, np.bool_, len(paths))

    def _candidate(self, row: int) -> Candidate:
        return Candidate(*(column[row] for column in self._columns))
