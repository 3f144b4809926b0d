"""Remarks about a call graph: only those that concern the answer, in one order, at most as many as asked for (QU-4).

The JSON calls them notes, and a source document fixes the names of their fields (docs/sources.md, document 001).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from gitindex.model.frozen import field, frozen
from gitindex.model.json_answer import json_key

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


@frozen
class ListedRemark:
    """A remark as an answer lists it."""

    type: str
    file: str
    symbol_id: str | None = field(metadata=json_key("symbolId"))
    start_line: int | None = field(metadata=json_key("startLine"))
    detail: str
    detail_hash: str = field(metadata=json_key("detailHash"))


@frozen
class RemarkList:
    """The notes of an answer, and how many of all there are."""

    notes: tuple[ListedRemark, ...]
    truncated: bool = field(metadata=json_key("notesTruncated"))
    total_count: int = field(metadata=json_key("totalNoteCount"))
    returned_count: int = field(metadata=json_key("returnedNoteCount"))
    warnings: tuple[str, ...]


def select_remarks(
    remarks: Iterable[CallGraphRemark], files: set[str], symbols: set[str], limit: int = LIMIT
) -> RemarkList:
    """The notes of an answer about these files and symbols."""
    relevant = {
        remark
        for remark in remarks
        if remark.file in files and (remark.symbol_id is None or remark.symbol_id in symbols)
    }
    ordered = sorted(relevant, key=_sort_key)
    returned = ordered[: max(limit, 0)]
    is_truncated = len(returned) < len(ordered)
    return RemarkList(
        notes=tuple(_make_note(remark) for remark in returned),
        truncated=is_truncated,
        total_count=len(ordered),
        returned_count=len(returned),
        warnings=(WARNING,) if is_truncated else (),
    )


def _make_note(remark: CallGraphRemark) -> ListedRemark:
    return ListedRemark(
        type=remark.type,
        file=remark.file,
        symbol_id=remark.symbol_id,
        start_line=remark.start_line,
        detail=remark.detail,
        detail_hash=remark.detail_hash,
    )


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
