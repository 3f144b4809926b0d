"""The chunks that a question may be about: what words, vectors and definitions find, each chunk with all its scores.

Lives as long as a view and keeps what is costly to load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gitindex.search import symbols
from gitindex.search.candidate import Key, RetrievedChunk
from gitindex.search.chunkscore import ChunkEvidence
from gitindex.search.lexical import LexicalSearcher
from gitindex.search.parse import Query
from gitindex.search.request import HYBRID, LEXICAL, SEMANTIC
from gitindex.search.scope import SearchScope
from gitindex.view.snapshot import SnapshotView

if TYPE_CHECKING:
    from gitindex.extract.embed.protocol import Embedder
    from gitindex.search.dense import DenseIndex, VectorScores

_DEPTH = 200  # candidates of each retriever: a file shows itself in several chunks
_NARROW_DEPTH = 400  # before conditions, or of pasted text, to which most that fits is tests
_DEFINITIONS = 20
_COMMON = 12  # definitions of a name in pasted text beyond which it says nothing
_DEFINING_CHUNKS = 200
_LEAST = 0.01  # the cosine above the ordinary that the farthest of a few counts


class Retrieved(NamedTuple):
    """The chunks that were looked at, and what is known of the others."""

    pool: list[ChunkEvidence]
    beyond: int = 0  # others counted
    open: bool = False  # there may be others that nobody counted
    rarity: Mapping[str, float] = MappingProxyType({})  # of the question's words, as shares of the rarest


class Retriever:
    def __init__(self, view: SnapshotView, open_embedder: Callable[[], Embedder | None]) -> None:
        self._view = view
        self._open_embedder = open_embedder

    @cached_property
    def words(self) -> LexicalSearcher:
        return LexicalSearcher(self._view.lexical)

    @property
    def has_vectors(self) -> bool:
        return self._view.manifest.dimension > 0

    def retrieve(self, mode: str, query: Query, scope: SearchScope, *, count: bool = False) -> Retrieved:
        """All evidence that the mode asks for; with `count`, words count the chunks beyond the pool."""
        found, beyond, more = ([], 0, False) if mode == SEMANTIC else self._find_words(query, scope, count)
        candidates = {item.key: item for _, item in found}
        words = {item.key: score for score, item in found}
        senses: dict[Key, float] = {}
        if mode != LEXICAL and query.text and self.has_vectors:
            near, scores, farther = self._find_near(query, scope)
            candidates = {**{item.key: item for _, item in near}, **candidates}
            middle = (
                scores.median
                if mode == HYBRID
                else min([scores.median, *(score for score, _ in near)]) - _LEAST
            )
            senses = _above_ordinary(near, scores.select_scores(candidates), middle)
            # Whatever meets a condition has its words, so words that were not cut know all of it.
            more = more or (farther and not (query.has_conditions and mode == HYBRID))
        defining = {} if mode == SEMANTIC else self._find_definitions(query, scope)
        hidden = [key for key in defining if key not in candidates]
        added = self.words.fetch(hidden, self.words.build_conditions(query, scope)) if hidden else {}
        candidates.update(added)
        pool = [
            ChunkEvidence(
                defining[key][0] if key in defining else item,
                words.get(key, 0.0),
                senses.get(key, 0.0),
                defining[key][1] if key in defining else 0.0,
            )
            for key, item in candidates.items()
        ]
        told = [item for item in pool if item.words or item.sense or item.defines]
        # Definitions that were added may be among the chunks counted.
        rarity = self.words.compare_rarity(query)
        return Retrieved(told or pool, max(0, beyond - len(added)), more or bool(beyond and added), rarity)

    def add_files(self, retrieved: Retrieved, paths: Iterable[str]) -> Retrieved:
        """The same with these files, by their first chunks, where nothing of them was found."""
        known = {item.candidate.path for item in retrieved.pool}
        added = self.words.fetch([(path, 1) for path in paths if path not in known])
        return retrieved._replace(pool=[*retrieved.pool, *map(ChunkEvidence, added.values())])

    def _find_words(
        self, query: Query, scope: SearchScope, count: bool
    ) -> tuple[list[tuple[float, RetrievedChunk]], int, bool]:
        depth = _NARROW_DEPTH if query.pasted or query.has_conditions else _DEPTH
        found = self.words.find(query, scope, depth + 1)
        if len(found) <= depth:
            return found, 0, False
        if count or not query.text:  # counting is cheap without words
            return found[:depth], self.words.count(query, scope) - depth, False
        return found[:depth], 0, True

    def _find_near(
        self, query: Query, scope: SearchScope
    ) -> tuple[list[tuple[float, RetrievedChunk]], VectorScores, bool]:
        """The nearest chunks that meet all conditions, how near any other is, and whether there are others."""
        assert self._embedder is not None, "an index with vectors names its embedder"
        depth = _NARROW_DEPTH if query.pasted or query.has_conditions else _DEPTH
        scores = self._vectors.score_query(self._embedder.embed_query(query.text))
        nearest = scores.find_nearest(scope, depth + 1)
        found = nearest[:depth]
        if query.has_conditions:
            kept = self.words.fetch(
                [item.key for _, item in found], self.words.build_conditions(query, scope)
            )
            found = [(score, kept[item.key]) for score, item in found if item.key in kept]
        return found, scores, len(nearest) > depth

    def _find_definitions(self, query: Query, scope: SearchScope) -> dict[Key, tuple[RetrievedChunk, float]]:
        """Chunks under the names that they define, those in the question, and how much each name says."""
        names = [query.symbol] if query.symbol else query.names
        if query.pasted:
            chosen = symbols.find_rare(self._view, names, scope, _COMMON)
        else:
            chosen = dict.fromkeys(symbols.find_exact(self._view, names, scope)[:_DEFINITIONS], 1.0)
        if not chosen:
            return {}
        chunks = self.words.find_defining(
            {item.name for item in chosen}, {item.path for item in chosen}, _DEFINING_CHUNKS
        )
        shown = {}
        for chunk in chunks:
            for item, strength in chosen.items():
                if _begins_in(item, chunk):
                    named = chunk._replace(symbol=item.qualified_name, symbol_kind=item.kind)
                    shown[chunk.key] = named, strength
                    break
        return shown

    @cached_property
    def _vectors(self) -> DenseIndex:
        from gitindex.search.dense import DenseIndex

        return DenseIndex.load(self._view)

    @cached_property
    def _embedder(self) -> Embedder | None:
        return self._open_embedder()


def _above_ordinary(
    near: Sequence[tuple[float, RetrievedChunk]], scores: dict[Key, float], middle: float
) -> dict[Key, float]:
    if near and near[0][0] <= middle:  # filters left nothing else: the farthest of these is the ordinary one
        middle = near[-1][0] - _LEAST
    return {key: score - middle for key, score in scores.items() if score > middle}


def _begins_in(definition: symbols.ScoredDefinition, chunk: RetrievedChunk) -> bool:
    return (
        chunk.chunk_kind == "text"
        and definition.path == chunk.path
        and chunk.start_line <= definition.line <= chunk.end_line
    )
