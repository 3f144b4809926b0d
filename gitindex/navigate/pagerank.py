"""PageRank over a small weighted graph. Pure; the result does not depend on the order of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_DAMPING = 0.85
_ROUNDS = 60
_TOLERANCE = 1e-9


def pagerank(
    nodes: Sequence[str], weights: Mapping[tuple[str, str], float], start: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Rank of every node; ranks add up to 1. `start` weighs the nodes where a walk restarts (default: all alike).

    Out-weights of a node that add up to less than 1 are not scaled up: the remainder goes back to `start`, as the rank
    of a node without edges does. A single weak edge therefore passes on little.
    """
    import numpy as np

    if not nodes:
        return {}
    numbers = {name: index for index, name in enumerate(nodes)}
    ordered = sorted((numbers[a], numbers[b], weight) for (a, b), weight in weights.items())
    sources = np.array([item[0] for item in ordered], dtype=np.int64)
    targets = np.array([item[1] for item in ordered], dtype=np.int64)
    strength = np.array([item[2] for item in ordered], dtype=np.float64)
    size = len(nodes)
    out = np.bincount(sources, strength, size) if ordered else np.zeros(size)
    total = np.maximum(out, 1.0)  # per node; below 1 nothing is scaled up
    fraction = strength / total[sources] if ordered else strength
    dangling = 1 - out / total  # per node, the part of its rank that no edge carries on
    base = np.array([max(start.get(name, 0.0), 0.0) if start else 1.0 for name in nodes], dtype=np.float64)
    base = base / base.sum() if base.sum() else np.full(size, 1 / size)
    rank = base.copy()
    for _ in range(_ROUNDS):
        received = np.bincount(targets, rank[sources] * fraction, size) if ordered else np.zeros(size)
        dangling_rank = (rank * dangling).sum()
        next_rank = (1 - _DAMPING) * base + _DAMPING * (received + dangling_rank * base)
        if np.abs(next_rank - rank).sum() < _TOLERANCE:
            rank = next_rank
            break
        rank = next_rank
    return dict(zip(nodes, rank.tolist(), strict=True))
