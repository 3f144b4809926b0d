"""What words, vectors and names say of one chunk, as one score. Pure.

`trust · cosine above the ordinary + weight · word score`, each chunk with both of its scores, as a share of the best.
Neither is scaled to its own best: how near the nearest chunk is, and how rare the words that matched, says which of the
two knows. Vectors of a question they do not understand still have an order, so trust falls with the best cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gitindex.search.candidate import RetrievedChunk
from gitindex.search.lexical import MAX_TERMS
from gitindex.search.parse import Query, last_name
from gitindex.search.weights import RankWeights

_TINY_LINES = 2


class ChunkEvidence(NamedTuple):
    """What the retrievers say of one chunk."""

    candidate: RetrievedChunk
    words: float = 0.0
    sense: float = 0.0  # cosine above that of an ordinary chunk
    defines: float = 0.0  # how much it is told by defining a name in the question


def score_chunks(pool: Sequence[ChunkEvidence], query: Query, weights: RankWeights) -> list[float]:
    """A score for each; 1.0 is the best without names."""
    per_word, trust = weigh_layers(query, max((item.sense for item in pool), default=0.0), weights)
    total = [per_word * item.words + trust * item.sense for item in pool]
    best = max(total, default=0.0)
    whole = query.symbol
    return [
        _adjust(item, score / best if best > 0 else 1.0, whole, weights)
        for item, score in zip(pool, total, strict=True)
    ]


def weigh_layers(query: Query, nearest: float, weights: RankWeights) -> tuple[float, float]:
    """What a word score and what a cosine counts; every further term adds to a word score, so it counts per term."""
    terms = max(1, min(len(query.content_terms), MAX_TERMS))
    return (weights.spelled if query.symbol else weights.words) / terms, (
        nearest / weights.sure
    ) ** weights.doubt


def _adjust(item: ChunkEvidence, score: float, whole: str, weights: RankWeights) -> float:
    chunk = item.candidate
    if whole and chunk.symbol:
        score += weights.whole_name * match_name(chunk.symbol, whole, weights.folded_name)
    elif item.defines:
        score += weights.inner_name * item.defines
    if chunk.chunk_kind == "anchor":
        return score * weights.head
    return score * weights.tiny if chunk.end_line - chunk.start_line < _TINY_LINES else score


def match_name(symbol: str, wanted: str, folded: float) -> float:
    """`Outer.inner` for inner, outer.inner and Outer.inner; spelled alike beats alike but for case."""
    for have, want, share in ((symbol, wanted, 1.0), (symbol.lower(), wanted.lower(), folded)):
        if have == want or have.endswith("." + want):
            return share
    return 0.3 * folded if last_name(symbol).lower() == last_name(wanted).lower() else 0.0
