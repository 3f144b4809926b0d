"""What gated reads answer, as values: the command line renders text from them, `--json` and MCP their `to_json`.

An answer has a status, what was asked for, and a basis: the snapshot that answered, and what was left out. A read that
has nothing to show is a `NotAnswered`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitindex.model import versions
from gitindex.model.frozen import field, frozen
from gitindex.model.json_answer import EMBEDDED, OPTIONAL, json_key, to_json
from gitindex.navigate.callgraph import CallGraphSummary
from gitindex.navigate.file_imports import ImportGraph
from gitindex.navigate.imported_documents import Hover
from gitindex.navigate.outline import OutlineEntry
from gitindex.navigate.references import ReferenceList
from gitindex.navigate.repomap import RepoMap
from gitindex.navigate.slice import VariableSlice
from gitindex.navigate.symbol import SymbolEntry
from gitindex.ops.answers.answer_truths import Truth


@frozen
class AnswerBasis:
    """What every answer from a snapshot says about that snapshot and about itself."""

    snapshot_id: str
    fingerprints: Mapping[str, str | None]
    truth: Truth = field(metadata=EMBEDDED)
    truncated: bool = False  # a limit or the size budget kept something out
    left_out: Mapping[str, int] = field(default_factory=dict)  # what the size budget kept out, by list
    stale: bool = field(default=False, metadata=OPTIONAL)  # a rebuild runs; this is the last good snapshot
    hints: Mapping[str, Any] = field(default_factory=dict, metadata=OPTIONAL)
    sync_skipped: str = field(default="", metadata=OPTIONAL)  # why `--sync` synced nothing


@frozen
class SnapshotAnswer:
    """The part that all answers below share."""

    status: str
    basis: AnswerBasis = field(metadata=EMBEDDED)

    def to_json(self) -> dict[str, Any]:
        """Version, status and snapshot first, then what was asked for, then the basis."""
        values = to_json(self)
        basis = to_json(self.basis)
        content = {name: value for name, value in values.items() if name not in basis}
        header = {
            **versions.answer_version("query"),
            "status": self.status,
            "snapshot_id": self.basis.snapshot_id,
        }
        return {**header, **content, **basis}


@frozen
class Miss:
    """Why no definition was found. `path`: the position names a place that does not exist."""

    message: str
    suggestions: tuple[str, ...] = ()
    path: str = field(default="", metadata=OPTIONAL)


@frozen
class NotAnswered(SnapshotAnswer):
    """`not_found`, `unsupported` or `ambiguous`: a message instead of what was asked for."""

    message: str
    path: str = field(default="", metadata=OPTIONAL)
    skip: str = field(default="", metadata=OPTIONAL)  # why the file is not indexed
    target: str = field(default="", metadata=OPTIONAL)
    suggestions: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    candidates: tuple[SymbolEntry, ...] = field(default=(), metadata=OPTIONAL)  # of an ambiguous target
    candidate_count: int | None = field(default=None, metadata=OPTIONAL)
    worktree: str = field(default="", metadata=OPTIONAL)
    total_lines: int | None = field(default=None, metadata=OPTIONAL)


@frozen
class SymbolAnswer(SnapshotAnswer):
    query: str
    results: tuple[SymbolEntry, ...]
    result_count: int
    miss: Miss | None = field(default=None, metadata=EMBEDDED)
    hover: Hover | None = field(default=None, metadata=OPTIONAL)
    implementations: tuple[SymbolEntry, ...] = field(default=(), metadata=OPTIONAL)


@frozen
class ReferencesAnswer(SnapshotAnswer):
    symbol: str
    query: str
    reference_list: ReferenceList = field(metadata=EMBEDDED)
    miss: Miss | None = field(default=None, metadata=EMBEDDED)


@frozen
class OutlineAnswer(SnapshotAnswer):
    path: str
    language: str
    lines: int
    parse_error: bool
    text_only: str
    symbols: tuple[OutlineEntry, ...]
    precision: str
    docs_left_out: bool
    message: str = field(default="", metadata=OPTIONAL)


@frozen
class CallGraphAnswer(SnapshotAnswer):
    target: str
    graph: CallGraphSummary = field(metadata=EMBEDDED)
    diagram: str = field(default="", metadata=OPTIONAL)
    format: str = field(default="", metadata=OPTIONAL)


@frozen
class ImportsAnswer(SnapshotAnswer):
    graph: ImportGraph = field(metadata=EMBEDDED)


@frozen
class MapAnswer(SnapshotAnswer):
    map: RepoMap = field(metadata=EMBEDDED)
    lines_left_out: int | None = field(default=None, metadata=json_key("map_lines_left_out", optional=True))


@frozen
class SliceAnswer(SnapshotAnswer):
    path: str
    exact_text: bool
    slice: VariableSlice = field(metadata=EMBEDDED)
    message: str = field(default="", metadata=OPTIONAL)


@frozen
class FileTextAnswer(SnapshotAnswer):
    """Lines of a file; `worktree` says how the file in the working tree compares with the index."""

    path: str
    language: str
    source: str  # index | worktree
    exact: bool
    blob: str
    worktree: str  # same | modified
    start_line: int
    end_line: int
    total_lines: int
    content: str
    bom: bool
    final_newline: bool
