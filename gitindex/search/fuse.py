"""Fusion of two rankings into one. Pure.

`(1 - a)·lexical/max + a·(dense - median)/(max - median)` over the union of both lists, each candidate with both of its
scores: a chunk that one retriever put first and the other far down is judged by what the other really said.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitindex.search.candidate import Candidate, Key, Scored

DENSE_SHARE = 0.6  # of a sentence
DENSE_SHARE_WORDS = 0.4  # of a few words
DENSE_SHARE_SYMBOL = 0.3  # a name is spelled, not meant
_SENTENCE = 4  # words


def share_of(terms: int, *, symbol: bool) -> float:
    """How much meaning counts against words."""
    if symbol:
        return DENSE_SHARE_SYMBOL
    return DENSE_SHARE if terms >= _SENTENCE else DENSE_SHARE_WORDS


def fuse(
    candidates: Mapping[Key, Candidate],
    lexical: Mapping[Key, float],
    dense: Mapping[Key, float],
    share: float,
    middle: float = 0.0,
) -> list[Scored]:
    """Every candidate once, in the order given; `middle` is the dense score of an ordinary chunk.

    Without any score of one retriever the other's count whole.
    """
    share = 0.0 if not dense else 1.0 if not lexical else share
    words = _above(lexical, 0.0)
    sense = _above(dense, middle)
    return [
        Scored(
            found,
            (1 - share) * words.get(key, 0.0) + share * sense.get(key, 0.0),
            tuple(name for name, part in (("lexical", words), ("dense", sense)) if part.get(key, 0.0) > 0),
        )
        for key, found in candidates.items()
    ]


def _above(scores: Mapping[Key, float], middle: float) -> dict[Key, float]:
    """Scores as shares of the best one's lead over the middle."""
    lead = max(scores.values(), default=0.0) - middle
    if lead <= 0:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - middle) / lead for key, score in scores.items()}
