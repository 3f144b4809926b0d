"""Fusion of two rankings into one. Pure.

`trust · cosine above the ordinary + weight · word score` over the union of both lists, each candidate with both of its
scores: a chunk that one retriever put first and the other far down is judged by what the other really said. Neither is
scaled to its own best: how near the nearest chunk is, and how rare the words that matched, says which of the two knows.
Vectors of a question they do not understand still have an order, so trust falls with the square of the best cosine.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitindex.search.candidate import Candidate, Key, Scored

_WORDS = 0.07  # what a word score of one per term is worth in cosine
_SURE = 0.45  # the best cosine above the ordinary at which a cosine counts as it is
_SPELLED = 0.3  # a name is spelled, not meant


def weight_of(terms: int, *, symbol: bool) -> float:
    """What a word score counts against a cosine; every further term adds to the score, so it counts per term."""
    return (_SPELLED if symbol else _WORDS) / max(1, terms)


def fuse(
    candidates: Mapping[Key, Candidate],
    lexical: Mapping[Key, float],
    dense: Mapping[Key, float],
    weight: float = 1.0,
    middle: float = 0.0,
) -> list[Scored]:
    """Every candidate once, in the order given, as shares of the best; `middle` is the cosine of an ordinary chunk."""
    sense = {key: score - middle for key, score in dense.items() if score > middle}
    trust = (max(sense.values(), default=0.0) / _SURE) ** 2
    total = {key: weight * lexical.get(key, 0.0) + trust * sense.get(key, 0.0) for key in candidates}
    best = max(total.values(), default=0.0)
    return [
        Scored(
            found,
            total[key] / best if best > 0 else 1.0,
            tuple(name for name, part in (("lexical", lexical), ("dense", sense)) if part.get(key, 0.0) > 0),
        )
        for key, found in candidates.items()
    ]
