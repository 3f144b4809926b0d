"""`read`: a file's text as indexed, and whether the file in the working tree is still the same."""

from __future__ import annotations

import re

from gitindex.errors import UsageError
from gitindex.files.safeopen import ReadError, Root, Vanished
from gitindex.files.stableread import stable_read
from gitindex.model.frozen import frozen
from gitindex.model.ids import blob_id
from gitindex.model.records import FileRecord
from gitindex.model.settings import MAX_FILE_BYTES
from gitindex.navigate.text import IndexedText, decode_text
from gitindex.ops.answers.answer_budget import fit_text
from gitindex.ops.answers.answer_types import FileTextAnswer, NotAnswered
from gitindex.ops.answers.gated_read import Reading, ReadOptions, explain_past_end, open_reading
from gitindex.ops.codebase import Codebase

_RANGE = re.compile(r"(.+?):(\d{1,9})(?:-(\d{1,9})?)?")
_RESERVED_CHARS = 4000  # for everything but the text


def split_range(text: str) -> tuple[str, int, int | None]:
    """`PATH`, `PATH:A`, `PATH:A-` or `PATH:A-B`, 1-based and inclusive.

    Raises UsageError for a range that is none.
    """
    match = _RANGE.fullmatch(text)
    if match is None:
        return text, 1, None
    first = int(match[2])
    last = int(match[3]) if match[3] else (None if text.endswith("-") else first)
    if first < 1 or (last is not None and last < first):
        raise UsageError(f"not a range of lines: {text}", hint="gitindex read PATH:FIRST-LAST")
    return match[1], first, last


@frozen
class LineRange:
    """Lines `first` to `last`, 1-based and inclusive; `last` None: to the end."""

    first: int = 1
    last: int | None = None


def read_file(
    codebase: Codebase,
    path: str,
    options: ReadOptions,
    *,
    first: int = 1,
    last: int | None = None,
    worktree: bool = False,
    whole: bool = False,
) -> FileTextAnswer | NotAnswered:
    """Lines `first` to `last` of an indexed file; with `worktree` as they are now instead of as indexed, with `whole`
    without a size budget."""
    if first < 1 or (last is not None and last < first):
        raise UsageError(f"not a range of lines: {first}-{last}")
    with open_reading(codebase, options) as read:
        key = read.resolve_path(path)
        record = read.view.record(key)
        if record is None or record.skip:
            return read.answer_no_file(key)
        worktree_state, worktree_text = _read_worktree(codebase, record)
        text = worktree_text if worktree else read.texts.get(key)
        if text is None:
            assert worktree, "an indexed file has text"
            message = f"{key} is {worktree_state}"
            return NotAnswered("not_found", read.basis(), message, path=key, worktree=worktree_state)
        budget = MAX_FILE_BYTES if whole else max(read.budget - _RESERVED_CHARS, 1000)
        return _make_answer(
            read,
            record,
            text,
            LineRange(first, last),
            source="worktree" if worktree else "index",
            worktree=worktree_state,
            budget=budget,
        )


def _read_worktree(codebase: Codebase, record: FileRecord) -> tuple[str, IndexedText | None]:
    """same | modified | missing | unreadable, and the text as it is now."""
    try:
        with Root(codebase.root) as root:
            data = stable_read(root, record.path.encode(), MAX_FILE_BYTES).data
    except Vanished:
        return "missing", None
    except ReadError:
        return "unreadable", None
    algorithm = "sha256" if len(record.content) == 64 else "sha1"
    same = blob_id(data, algorithm) in (record.content, record.blob)
    return "same" if same else "modified", decode_text(data, "worktree")


def _make_answer(
    read: Reading,
    record: FileRecord,
    text: IndexedText,
    line_range: LineRange,
    *,
    source: str,
    worktree: str,
    budget: int,
) -> FileTextAnswer | NotAnswered:
    first = line_range.first
    lines = text.text.removesuffix("\n").split("\n") if text.text else []
    if first > max(len(lines), 1):
        message = explain_past_end(record.path, len(lines), first)
        return NotAnswered("not_found", read.basis(), message, path=record.path, total_lines=len(lines))
    selected = lines[first - 1 : line_range.last]
    content, lines_cut = fit_text("\n".join(selected), budget)
    lines_shown = content.count("\n") + 1 if selected else 0
    end = first + lines_shown - 1 if selected else 0
    # Only a first line that is longer than the budget is cut inside the line.
    characters_cut = len(selected[0]) - len(content) if lines_shown == 1 else 0
    cut = {"lines": lines_cut, "characters": characters_cut}
    return FileTextAnswer(
        status="ok",
        basis=read.basis(left_out={name: count for name, count in cut.items() if count}),
        path=record.path,
        language=record.language,
        source=source,
        exact=text.exact,
        blob=record.content,
        worktree=worktree,
        start_line=first if selected else 0,
        end_line=end,
        total_lines=len(lines),
        content=content,
        bom=text.bom and first == 1,
        final_newline=not characters_cut and (end < len(lines) or text.text.endswith("\n")),
    )
