"""A chunk that a retriever found, on its way through fusion and ranking. Values only."""

from __future__ import annotations

from typing import NamedTuple

Key = tuple[str, int]  # path, ordinal


class RetrievedChunk(NamedTuple):
    path: str
    ordinal: int
    chunk_kind: str  # anchor | text
    language: str
    start_line: int
    end_line: int
    symbol: str
    symbol_kind: str
    text: str | None = None  # None: not read yet

    @property
    def key(self) -> Key:
        return self.path, self.ordinal


class ScoredChunk(NamedTuple):
    candidate: RetrievedChunk
    score: float
    layers: tuple[str, ...]


class ChunkPool(NamedTuple):
    """The candidates that were looked at, and what is known of the others."""

    items: list[ScoredChunk]
    beyond: int = 0  # others counted
    open: bool = False  # there may be others that nobody counted
