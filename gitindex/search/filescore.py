"""Which files a question is about: the evidence of all chunks of a file, of its name and of the names in it. Pure.

A file is worth its best chunks, each further one less, what the question has of the file's name, and what its
definitions have of the question. Tests, examples, pages and ports step back unless the question asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gitindex.search.chunkscore import ChunkEvidence
from gitindex.search.filekind import PORTS, file_kind, is_port
from gitindex.search.parse import Query
from gitindex.search.weights import RankWeights
from gitindex.search.wordforms import WordMatcher, name_words, stem_words

# A question that names a kind of file wants it.
_WANTED = {
    "test": {"test", "tests", "spec", "fixture", "fixtures"},
    "doc": {"doc", "docs", "readme", "documentation", "changelog", "guide", "license"},
    "example": {"example", "examples", "demo", "sample"},
    "config": {"config", "configuration", "settings", "toml", "yaml", "json", "ini"},
}


class FileScorer:
    """Scores files for one question; `rarity` says how rare its words are, as shares of the rarest."""

    def __init__(self, query: Query, rarity: Mapping[str, float], weights: RankWeights) -> None:
        words = list(rarity) if query.pasted else query.content_terms
        self._rarity = {word: rarity.get(word, 1.0) for word in words}
        # Pasted text has words of every kind of file and asks for none.
        self._wanted = frozenset[str]() if query.pasted else frozenset(words)
        self._whole = sum(self._rarity.values()) or 1.0
        self._matcher = WordMatcher(self._rarity, weights.partly)
        self._weights = weights
        self._kinds = {"code": 1.0, "test": weights.test, "example": weights.example, "doc": weights.doc}

    def score_files(
        self,
        pool: Sequence[ChunkEvidence],
        scores: Sequence[float],
        by_file: Mapping[str, Sequence[int]],
        mentioned: Mapping[str, float],
    ) -> dict[str, float]:
        """`mentioned` says how much a pasted text points at a file."""
        sources = {_without_ending(path) for path in by_file if path.endswith(".c")}
        return {
            path: (
                self._sum_chunks(scores[at] for at in found)
                + self._weights.stem * self.match_path(path)
                + self._weights.names * self._match_names(pool[at].candidate.symbol for at in found)
                + self._weights.mention * mentioned.get(path, 0.0)
            )
            * self.weigh_kind(path)
            * (self._weights.header if path.endswith(".h") and _without_ending(path) in sources else 1.0)
            for path, found in by_file.items()
        }

    def match_path(self, path: str) -> float:
        """The share of the file name's words in the question."""
        stem = stem_words(path)
        return sum(map(self._matcher.best, stem)) / max(1, len(stem))

    def weigh_kind(self, path: str) -> float:
        kind = file_kind(path)
        if _WANTED.get(kind, set()) & self._wanted:
            return 1.0
        share = self._kinds.get(kind, self._weights.other)
        return share * self._weights.port if is_port(path) and not PORTS & self._wanted else share

    def _sum_chunks(self, scores: Iterable[float]) -> float:
        best = sorted(scores, reverse=True)[: self._weights.chunks]
        return sum(score * self._weights.further**at for at, score in enumerate(best))

    def _match_names(self, symbols: Iterable[str]) -> float:
        """The share of the question's words in names that the file defines, a telling word counting more."""
        best: dict[str, float] = {}
        for word in frozenset[str]().union(*(name_words(symbol) for symbol in symbols if symbol)):
            for asked, share in self._matcher.find(word):
                best[asked] = max(best.get(asked, 0.0), share)
        return sum(share * self._rarity[asked] for asked, share in best.items()) / self._whole


def _without_ending(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0].lower()
