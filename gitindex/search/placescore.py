"""Which place of a file answers: the chunk whose definition says what the question says. Pure.

Which file a question is about, and which place in it, are two questions: what is added here moves places only.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitindex.search.candidate import RetrievedChunk
from gitindex.search.chunkscore import ChunkEvidence
from gitindex.search.filekind import file_kind
from gitindex.search.filescore import FileScorer
from gitindex.search.parse import Query
from gitindex.search.weights import RankWeights
from gitindex.search.wordforms import name_words

_CALLABLES = frozenset({"function", "method", "constructor", "macro"})
_SENTENCE = 4  # words


def score_places(
    pool: Sequence[ChunkEvidence], scores: Sequence[float], query: Query, weights: RankWeights
) -> list[float]:
    """What each chunk is worth as a place to look at, whatever its file is worth; a name has said all it can."""
    if query.symbol:
        return list(scores)
    words = frozenset(query.terms)
    return [
        score * (1 + _say_name(item.candidate, words, weights))
        for item, score in zip(pool, scores, strict=True)
    ]


def score_passages(pool: Sequence[ChunkEvidence], places: Sequence[float], scorer: FileScorer) -> list[float]:
    """What each chunk is worth beside chunks of other files, for a list of chunks."""
    return [score * scorer.weigh_kind(item.candidate.path) for item, score in zip(pool, places, strict=True)]


def _say_name(chunk: RetrievedChunk, words: frozenset[str], weights: RankWeights) -> float:
    """How much a sentence says the name of the callable that the chunk shows.

    Only callables: a class named like the thing asked about would come before the method that does it. The name of a
    test is a sentence itself and would say more of the question than the code under test.
    """
    if chunk.symbol_kind not in _CALLABLES or not words or file_kind(chunk.path) == "test":
        return 0.0
    parts = name_words(chunk.symbol)
    common = len(parts & words)
    prior = weights.callable if len(words) >= _SENTENCE else 0.0
    inside = weights.in_question * common / len(parts) if parts else 0.0
    return prior + weights.says_name * common / len(words) + inside
