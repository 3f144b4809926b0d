"""One answer line and the whole answer of a search. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gitindex.model.frozen import frozen

TEXT, SYNTACTIC, SEMANTIC = "text", "syntactic", "semantic"  # precision tiers (QU-2)


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
    chunks: int = 0  # of a whole file: how many of its chunks match, the best of which is shown

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
        }
        return {**found, **{name: value for name, value in optional.items() if value}}

    @property
    def size(self) -> int:
        """Characters it costs in an answer, roughly."""
        return len(self.snippet) + len(self.path) + len(self.symbol) + 120


@frozen
class Found:
    """Hits, what was left out of them, and what the asker should know."""

    hits: tuple[Hit, ...] = ()
    left_out: int = 0  # found, but beyond limit or size budget
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()  # other spellings, where the words were not found
    degraded: str = ""  # why this did not come from the index
    nearest_only: bool = False  # no file has any of the words: the hits are merely nearest in meaning
    at_least: bool = False  # only the best candidates were looked at: more than `left_out` may be left

    @property
    def truncated(self) -> bool:
        return self.left_out > 0 or self.at_least


def within_budget(found: Found, most: int) -> Found:
    """Drop hits from the end until the answer fits; the first always stays, cut if it must be (QU-4)."""
    kept = _fitting(found.hits, most)
    if len(kept) == len(found.hits):
        return found
    note = f"{len(found.hits) - len(kept)} results left out: max_answer_chars is {most:,}"
    left = found.left_out + len(found.hits) - len(kept)
    return replace(found, hits=tuple(kept), left_out=left, notes=(*found.notes, note))


def _fitting(hits: Sequence[Hit], most: int) -> list[Hit]:
    kept: list[Hit] = []
    used = 0
    for hit in hits:
        used += hit.size
        if used > most:
            break
        kept.append(hit)
    if not kept and hits:
        kept.append(replace(hits[0], snippet=hits[0].snippet[: max(0, most - 200)]))
    return kept
