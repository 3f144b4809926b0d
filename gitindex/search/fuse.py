"""Fusion of two rankings into one. Pure.

`(1 - a)·lexical/max + a·(dense - median)/(max - median)` over the union of both lists, each candidate with both of its
scores: a chunk that one retriever put first and the other far down is judged by what the other really said. How much
meaning counts, `a`, depends on the query and on which retriever is surer of its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitindex.search.candidate import Candidate, Key, Scored

_SHARE = 0.7  # of meaning in a sentence
_SHARE_WORDS = 0.5  # in a few words
_SHARE_SYMBOL = 0.3  # a name is spelled, not meant
_SENTENCE = 4  # words
_LEAD = 2.0  # how much it counts that one retriever is surer than the other
_LOW, _HIGH = 0.3, 0.9
_PEER = 20  # the rank to stand out from


def share_of(
    terms: int, *, symbol: bool, words: Sequence[float], sense: Sequence[float], middle: float
) -> float:
    """How much meaning counts against words; both lists are scores, best first.

    A retriever whose best stands out from its twentieth is sure of itself; one that gives many alike is guessing.
    """
    if symbol:
        return _SHARE_SYMBOL
    base = _SHARE if terms >= _SENTENCE else _SHARE_WORDS
    return min(_HIGH, max(_LOW, base + _LEAD * (_lead(sense, middle) - _lead(words, 0.0))))


def _lead(scores: Sequence[float], floor: float) -> float:
    if not scores or scores[0] <= floor:
        return 0.0
    return (scores[0] - scores[min(_PEER, len(scores)) - 1]) / (scores[0] - floor)


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
