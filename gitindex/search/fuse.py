"""Fusion of two rankings into one. Pure.

`(1 - a)·lexical/max + a·(dense - median)/(max - median)` over the union of both lists: scores keep their meaning,
a retriever that is sure of itself counts more than one that ranks noise.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitindex.search.candidate import Candidate, Key, Scored

DENSE_SHARE = 0.4
DENSE_SHARE_SYMBOL = 0.3  # a name is spelled, not meant


def fuse(
    lexical: Sequence[tuple[float, Candidate]], dense: Sequence[tuple[float, Candidate]], share: float
) -> list[Scored]:
    """The union of both, each candidate once, unordered scores in [0, 1]."""
    words = _by_top({found.key: score for score, found in lexical})
    sense = _above_median({found.key: score for score, found in dense})
    known = {found.key: found for _, found in (*dense, *lexical)}  # lexical last: it has the text
    if not dense:
        share = 0.0
    elif not lexical:
        share = 1.0
    return [
        Scored(
            found,
            (1 - share) * words.get(key, 0.0) + share * sense.get(key, 0.0),
            tuple(name for name, part in (("lexical", words), ("dense", sense)) if key in part),
        )
        for key, found in known.items()
    ]


def _by_top(scores: dict[Key, float]) -> dict[Key, float]:
    top = max(scores.values(), default=0.0)
    return {key: score / top if top > 0 else 0.0 for key, score in scores.items()}


def _above_median(scores: dict[Key, float]) -> dict[Key, float]:
    """What the dense retriever knows is how far a score stands out from its neighbours'."""
    if not scores:
        return {}
    ranked = sorted(scores.values())
    middle, top = ranked[len(ranked) // 2], ranked[-1]
    if top <= middle:
        return dict.fromkeys(scores, 1.0)
    return {key: max(0.0, (score - middle) / (top - middle)) for key, score in scores.items()}
