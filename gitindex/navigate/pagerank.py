"""PageRank over a small weighted graph. Pure; the result does not depend on the order of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_DAMPING = 0.85
_ROUNDS = 60
_CLOSE = 1e-9


def pagerank(
    nodes: Sequence[str], weights: Mapping[tuple[str, str], float], start: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Rank of every node; ranks add up to 1. `start` says where a walk begins anew (default: anywhere).

    A node whose weights add up to less than 1 keeps its walkers only so far: a single faint edge is no highway.
    """
    import numpy as np

    if not nodes:
        return {}
    number = {name: at for at, name in enumerate(nodes)}
    ordered = sorted((number[a], number[b], weight) for (a, b), weight in weights.items())
    sources = np.array([item[0] for item in ordered], dtype=np.int64)
    targets = np.array([item[1] for item in ordered], dtype=np.int64)
    strength = np.array([item[2] for item in ordered], dtype=np.float64)
    size = len(nodes)
    out = np.bincount(sources, strength, size) if ordered else np.zeros(size)
    total = np.maximum(out, 1.0)
    share = strength / total[sources] if ordered else strength
    stray = 1 - out / total
    base = np.array([max(start.get(name, 0.0), 0.0) if start else 1.0 for name in nodes], dtype=np.float64)
    base = base / base.sum() if base.sum() else np.full(size, 1 / size)
    rank = base.copy()
    for _ in range(_ROUNDS):
        moved = np.bincount(targets, rank[sources] * share, size) if ordered else np.zeros(size)
        lost = (rank * stray).sum()
        after = (1 - _DAMPING) * base + _DAMPING * (moved + lost * base)
        if np.abs(after - rank).sum() < _CLOSE:
            rank = after
            break
        rank = after
    return dict(zip(nodes, rank.tolist(), strict=True))
