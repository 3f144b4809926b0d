"""One model of two questions: which files, and which places in them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from gitindex.search.candidate import RetrievedChunk, ScoredChunk
from gitindex.search.chunkscore import ChunkEvidence, score_chunks
from gitindex.search.filescore import FileScorer
from gitindex.search.parse import Query
from gitindex.search.placescore import score_passages, score_places
from gitindex.search.retrieve import Retrieved
from gitindex.search.weights import RankWeights

PLACES = 3  # shown of a file
_NEAR = 0.5  # a chunk matches in meaning when it is at least half as near as the nearest


class RankedFile(NamedTuple):
    path: str
    score: float  # as a share of the best
    layers: tuple[str, ...]
    matching: int  # chunks that match
    chunks: tuple[int, ...]  # positions in the pool, best place first


class Ranking:
    """What was retrieved for one question, in order. Equal scores fall back to path and position."""

    def __init__(
        self,
        retrieved: Retrieved,
        query: Query,
        weights: RankWeights,
        mentioned: Mapping[str, float] | None = None,
    ) -> None:
        self.retrieved = retrieved
        self._pool = retrieved.pool
        self._query = query
        self._weights = weights
        self._mentioned = mentioned or {}
        self._scorer = FileScorer(query, retrieved.rarity, weights)
        self._scores = score_chunks(self._pool, query, weights)

    @property
    def nearest_only(self) -> bool:
        """Is there nothing that has any of the words?"""
        return bool(self._pool) and not any(item.words > 0 or item.defines for item in self._pool)

    @cached_property
    def _places(self) -> list[float]:
        return score_places(self._pool, self._scores, self._query, self._weights)

    def rank_files(self) -> list[RankedFile]:
        """Every file once, best first."""
        by_file: dict[str, list[int]] = {}
        for at, item in enumerate(self._pool):
            by_file.setdefault(item.candidate.path, []).append(at)
        scores = self._scorer.score_files(self._pool, self._scores, by_file, self._mentioned)
        best = max(scores.values(), default=0.0)
        nearest = max((item.sense for item in self._pool), default=0.0)
        ranked = [
            self._show_file(path, found, scores[path] / best if best > 0 else 1.0, nearest)
            for path, found in by_file.items()
        ]
        return sorted(ranked, key=lambda file: (-file.score, file.path))

    def list_places(self, file: RankedFile) -> list[RetrievedChunk]:
        """The best places of a file; its head only when nothing else is there."""
        chunks = [self._pool[at].candidate for at in file.chunks]
        return ([chunk for chunk in chunks if chunk.chunk_kind != "anchor"] or chunks)[:PLACES]

    def rank_passages(self, per_file: int, *, by_meaning: bool = False) -> list[ScoredChunk]:
        """Every chunk once, at most so many of one file before the others; `by_meaning`: the nearest first."""
        if by_meaning:
            scores = [item.sense for item in self._pool]
        else:
            scores = score_passages(self._pool, self._places, self._scorer)
        best = max(scores, default=0.0) or 1.0
        found = [
            ScoredChunk(item.candidate, score / best, name_layers([item]))
            for item, score in zip(self._pool, scores, strict=True)
        ]
        return limit_per_file(order_chunks(found), per_file)

    def _show_file(self, path: str, found: Sequence[int], score: float, nearest: float) -> RankedFile:
        items = [self._pool[at] for at in found]
        places = sorted(found, key=lambda at: (-self._places[at], self._pool[at].candidate.ordinal))
        matching = sum(_is_match(item, nearest) for item in items)
        return RankedFile(path, score, name_layers(items), max(1, matching), tuple(places))


def name_layers(items: Sequence[ChunkEvidence]) -> tuple[str, ...]:
    """Who found it."""
    who = {
        "lexical": any(item.words > 0 for item in items),
        "dense": any(item.sense > 0 for item in items),
        "symbol": any(item.defines for item in items),
    }
    return tuple(name for name, found in who.items() if found)


def order_chunks(items: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    return sorted(items, key=lambda item: (-item.score, item.candidate.path, item.candidate.ordinal))


def limit_per_file(items: Sequence[ScoredChunk], most: int) -> list[ScoredChunk]:
    """At most so many of one file at the top; the rest follow behind, nothing is lost."""
    seen: Counter[str] = Counter()
    first: list[ScoredChunk] = []
    later: list[ScoredChunk] = []
    for item in items:
        seen[item.candidate.path] += 1
        (first if seen[item.candidate.path] <= most else later).append(item)
    return first + later


def _is_match(item: ChunkEvidence, nearest: float) -> bool:
    return item.words > 0 or item.defines > 0 or (item.sense > 0 and item.sense >= _NEAR * nearest)
