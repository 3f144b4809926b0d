"""Notes of a call graph: only what concerns the answer, in one order, never more than asked for (QU-4)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

WARNING = "CALL_GRAPH_NOTES_TRUNCATED"
LIMIT = 50


class Note(NamedTuple):
    type: str  # ambiguous_call | external_calls | parse_error | text_only | truncated_file
    file: str
    detail: str
    symbol_id: str | None = None
    start_line: int | None = None

    @property
    def detail_hash(self) -> str:
        return hashlib.sha256(self.detail.encode("utf-8", "surrogatepass")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "file": self.file,
            "symbolId": self.symbol_id,
            "startLine": self.start_line,
            "detail": self.detail,
            "detailHash": self.detail_hash,
        }


def report(notes: Iterable[Note], files: set[str], symbols: set[str], limit: int = LIMIT) -> dict[str, Any]:
    """The notes fields of an answer about these files and symbols."""
    relevant = {
        note for note in notes if note.file in files and (note.symbol_id is None or note.symbol_id in symbols)
    }
    ordered = sorted(relevant, key=_order)
    kept = ordered[: max(limit, 0)]
    cut = len(kept) < len(ordered)
    return {
        "notes": [note.to_json() for note in kept],
        "notesTruncated": cut,
        "totalNoteCount": len(ordered),
        "returnedNoteCount": len(kept),
        "warnings": [WARNING] if cut else [],
    }


def _order(note: Note) -> tuple[str, str, bool, str, bool, int, str]:
    return (
        note.file,
        note.type,
        note.symbol_id is None,
        note.symbol_id or "",
        note.start_line is None,
        note.start_line or 0,
        note.detail_hash,
    )
