"""`read`: a file's text as indexed, and whether the working tree still says the same."""

from __future__ import annotations

import re
from typing import Any

from gitindex.errors import UsageError
from gitindex.files.safeopen import ReadError, Root, Vanished
from gitindex.files.stableread import stable_read
from gitindex.model.ids import blob_id
from gitindex.model.records import FileRecord
from gitindex.model.settings import MAX_FILE_BYTES
from gitindex.navigate.text import IndexedText, decode_text
from gitindex.ops.answers.answer_budget import fit_text
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


def read_file(
    codebase: Codebase,
    path: str,
    options: ReadOptions,
    *,
    first: int = 1,
    last: int | None = None,
    worktree: bool = False,
    whole: bool = False,
) -> dict[str, Any]:
    """Lines `first` to `last` of an indexed file; with `worktree` as they are now instead of as indexed, with `whole`
    however many there are."""
    if first < 1 or (last is not None and last < first):
        raise UsageError(f"not a range of lines: {first}-{last}")
    with open_reading(codebase, options) as read:
        key = read.resolve_path(path)
        record = read.view.record(key)
        if record is None or record.skip:
            message = f"{key} is not indexed: {record.skip}" if record else f"{key} is not in the index"
            return read.answer("not_found", path=key, message=message, skip=record.skip if record else None)
        worktree_state, worktree_text = _read_worktree(codebase, record)
        if worktree:
            if worktree_text is None:
                return read.answer(
                    "not_found", path=key, message=f"{key} is {worktree_state}", worktree=worktree_state
                )
            return _render_answer(read, record, worktree_text, "worktree", worktree_state, first, last, whole)
        indexed = read.texts.get(key)
        assert indexed is not None, "an indexed file has text"
        return _render_answer(read, record, indexed, "index", worktree_state, first, last, whole)


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


def _render_answer(
    read: Reading,
    record: FileRecord,
    file_text: IndexedText,
    source: str,
    worktree_state: str,
    first: int,
    last: int | None,
    whole: bool,
) -> dict[str, Any]:
    lines = file_text.text.removesuffix("\n").split("\n") if file_text.text else []
    if first > max(len(lines), 1):
        message = explain_past_end(record.path, len(lines), first)
        return read.answer("not_found", path=record.path, message=message, total_lines=len(lines))
    selected = lines[first - 1 : last]
    limit = MAX_FILE_BYTES if whole else max(read.budget - _RESERVED_CHARS, 1000)
    content, lines_cut = fit_text("\n".join(selected), limit)
    lines_shown = content.count("\n") + 1 if selected else 0
    end = first + lines_shown - 1 if selected else 0
    chars_cut = (
        len(selected[0]) - len(content) if lines_shown == 1 else 0
    )  # of a line that is too long by itself
    return read.answer(
        "ok",
        path=record.path,
        language=record.language,
        source=source,
        exact=file_text.exact,
        blob=record.content,
        worktree=worktree_state,
        start_line=first if selected else 0,
        end_line=end,
        total_lines=len(lines),
        content=content,
        bom=file_text.bom and first == 1,
        final_newline=not chars_cut and (end < len(lines) or file_text.text.endswith("\n")),
        truncated=lines_cut > 0 or chars_cut > 0,
        left_out={name: count for name, count in (("lines", lines_cut), ("characters", chars_cut)) if count},
    )
