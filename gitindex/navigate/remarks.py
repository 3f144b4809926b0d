"""Notes of a call graph: only what concerns the answer, in one order, never more than asked for (QU-4)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

WARNING = "CALL_GRAPH_NOTES_TRUNCATED"
LIMIT = 50


class CallGraphRemark(NamedTuple):
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


def render_remarks(
    remarks: Iterable[CallGraphRemark], files: set[str], symbols: set[str], limit: int = LIMIT
) -> dict[str, Any]:
    """The notes fields of an answer about these files and symbols."""
    relevant = {
        remark
        for remark in remarks
        if remark.file in files and (remark.symbol_id is None or remark.symbol_id in symbols)
    }
    ordered = sorted(relevant, key=_sort_key)
    returned = ordered[: max(limit, 0)]
    is_truncated = len(returned) < len(ordered)
    return {
        "notes": [note.to_json() for note in returned],
        "notesTruncated": is_truncated,
        "totalNoteCount": len(ordered),
        "returnedNoteCount": len(returned),
        "warnings": [WARNING] if is_truncated else [],
    }


def _sort_key(remark: CallGraphRemark) -> tuple[str, str, bool, str, bool, int, str]:
    return (
        remark.file,
        remark.type,
        remark.symbol_id is None,
        remark.symbol_id or "",
        remark.start_line is None,
        remark.start_line or 0,
        remark.detail_hash,
    )
