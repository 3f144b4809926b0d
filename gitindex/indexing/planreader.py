"""Reads the files of a plan, and records what changed since planning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gitindex.files.policy import EligibilityPolicy
from gitindex.indexing.indexwriter import FileContent
from gitindex.indexing.plan import Plan, PlannedFile
from gitindex.model.ids import sha256_hex
from gitindex.model.manifest import FileError
from gitindex.model.paths import PathKey
from gitindex.model.records import FileRecord, OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.source_file import Content, SourceFile, SourceTree


class PlanReader:
    """Reads each file once. `errors` and `final_plan` are complete after `read_files` ends."""

    def __init__(self, plan: Plan, source: SourceTree, policy: EligibilityPolicy) -> None:
        self._plan = plan
        self._source = source
        self._policy = policy
        self.errors: list[FileError] = []
        self._vanished: list[PathKey] = []
        self._stats: dict[PathKey, OverlayEntry] = {}

    def read_files(self) -> Iterator[FileContent]:
        """Skipped paths first, then the files that can be read."""
        readable: list[PlannedFile] = []
        source_files: list[SourceFile] = []
        for planned in self._plan.write:
            if planned.source_file is None:
                skip = planned.skip or SkipReason.UNREADABLE
                yield FileContent(_skip_record(planned, skip, planned.size), None)
            else:
                readable.append(planned)
                source_files.append(planned.source_file)
        contents = self._source.read(source_files)
        for planned, (_, content) in zip(readable, contents, strict=True):
            record = self._make_record(planned, content)
            if record is not None:
                yield FileContent(record, None if record.skip else content.data)

    def final_plan(self) -> Plan:
        """The plan as executed: files that disappeared meanwhile are deletions."""
        gone = {*self._plan.gone, *(key for key in self._vanished if key in self._plan.before)}
        return replace(self._plan, gone=tuple(sorted(gone)), overlay={**self._plan.overlay, **self._stats})

    def _make_record(self, planned: PlannedFile, content: Content) -> FileRecord | None:
        """The record of what was read; None when the file is gone."""
        if content.vanished:
            self._vanished.append(planned.key)
            return None
        if content.error:
            self.errors.append(FileError("unreadable_file", content.error, planned.key))
            return _skip_record(planned, SkipReason.UNREADABLE, 0)
        if content.overlay_entry is not None and not planned.link:
            self._stats[planned.key] = content.overlay_entry
        skip = content.skip or self._policy.content_skip(planned.key, content.data)
        return FileRecord(
            path=planned.key,
            blob=planned.blob if planned.link else content.blob,
            content=content.blob,
            link=planned.link,
            size=content.size,
            skip=skip or "",
            file_hash="" if skip else sha256_hex(content.data),
        )


def _skip_record(planned: PlannedFile, skip: SkipReason, size: int) -> FileRecord:
    return FileRecord(
        path=planned.key, blob=planned.blob, content="", link=planned.link, size=size, skip=skip
    )
