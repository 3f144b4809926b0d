"""One answer line and the whole answer of a search. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gitindex.model.frozen import frozen
from gitindex.search.candidate import RetrievedChunk
from gitindex.search.snippet import MAX_LINE

TEXT, SYNTACTIC, SEMANTIC = "text", "syntactic", "semantic"  # precision tiers (QU-2)


class FurtherPlace(NamedTuple):
    """Another place of a file that is a result."""

    start_line: int
    end_line: int
    text: str  # its first line
    symbol: str = ""
    kind: str = ""

    def to_json(self) -> dict[str, Any]:
        named = {"symbol": self.symbol, "kind": self.kind} if self.symbol else {}
        return {"start_line": self.start_line, "end_line": self.end_line, "text": self.text, **named}


@frozen
class Hit:
    path: str
    start_line: int
    end_line: int
    score: float
    layers: tuple[str, ...]  # who found it: lexical, dense, symbol, regex, metadata, scan
    precision: str
    snippet: str
    snippet_line: int  # line number of the snippet's first line
    symbol: str = ""
    kind: str = ""
    matches: tuple[int, ...] = ()  # lines known to match
    chunks: int = 0  # of a file: how many of its chunks match, the best of which is shown
    places: tuple[FurtherPlace, ...] = ()  # of a file: the next best of them

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "path": self.path,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "score": round(self.score, 4),
            "layers": list(self.layers),
            "precision": self.precision,
            "snippet": self.snippet,
            "snippet_line": self.snippet_line,
        }
        optional = {
            "symbol": self.symbol,
            "kind": self.kind,
            "matches": list(self.matches),
            "chunks": self.chunks,
            "places": [place.to_json() for place in self.places],
        }
        return {**found, **{name: value for name, value in optional.items() if value}}

    @property
    def size(self) -> int:
        """Characters it costs in an answer, roughly."""
        further = sum(len(place.text) + len(place.symbol) + 80 for place in self.places)
        return len(self.snippet) + len(self.path) + len(self.symbol) + 120 + further


@frozen
class SearchAnswer:
    """Hits, what was left out of them, and what the asker should know."""

    hits: tuple[Hit, ...] = ()
    left_out: int = 0  # found, but beyond limit or size budget
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()  # other spellings, where the words were not found
    degraded: str = ""  # why this did not come from the index
    relaxed: bool = False  # a phrase was found nowhere, so its words were searched one by one
    nearest_only: bool = False  # no file has any of the words: the hits are merely nearest in meaning
    at_least: bool = False  # only the best candidates were looked at: more than `left_out` may be left

    @property
    def truncated(self) -> bool:
        return self.left_out > 0 or self.at_least


def show_place(chunk: RetrievedChunk) -> FurtherPlace:
    first = next((line for line in (chunk.text or "").split("\n") if line.strip()), "").strip()
    return FurtherPlace(chunk.start_line, chunk.end_line, first[:MAX_LINE], chunk.symbol, chunk.symbol_kind)


def fit_to_budget(answer: SearchAnswer, max_chars: int) -> SearchAnswer:
    """Drop hits from the end until the answer fits; the first always stays, cut if it must be (QU-4)."""
    kept = _fit_hits(answer.hits, max_chars)
    if len(kept) == len(answer.hits):
        return answer
    note = f"{len(answer.hits) - len(kept)} results left out: max_answer_chars is {max_chars:,}"
    left = answer.left_out + len(answer.hits) - len(kept)
    return replace(answer, hits=tuple(kept), left_out=left, notes=(*answer.notes, note))


def _fit_hits(hits: Sequence[Hit], max_chars: int) -> list[Hit]:
    kept: list[Hit] = []
    used = 0
    for hit in hits:
        used += hit.size
        if used > max_chars:
            break
        kept.append(hit)
    if not kept and hits:
        kept.append(replace(hits[0], snippet=hits[0].snippet[: max(0, max_chars - 200)]))
    return kept
