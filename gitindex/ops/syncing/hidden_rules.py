"""Record rule files at the root that git does not list, such as a `.gitignore` that ignores itself (CF-2).

Their rules apply to other files all the same. A snapshot records them as ignored, with their blob: so an edit of them
is a change, and the ignore fingerprint covers it.
"""

from __future__ import annotations

from dataclasses import replace

from gitindex.errors import ConfigError
from gitindex.indexing.plan import Plan, PlannedFile
from gitindex.model.ids import blob_id
from gitindex.model.paths import PathKey
from gitindex.model.rulefiles import GIT_NAME, IGNORE_NAME
from gitindex.model.skips import SkipReason
from gitindex.ops.codebase import Codebase, read_root_file
from gitindex.source.gittree import GitSource
from gitindex.source.source_file import SourceTree
from gitindex.view.snapshot import SnapshotView


def add_hidden_rules(plan: Plan, codebase: Codebase, view: SnapshotView | None, source: SourceTree) -> Plan:
    """`plan` with the rule files that git does not list. Only where untracked files are indexed: elsewhere an
    unlisted rule file affects no file that is indexed."""
    if codebase.repo is not None and not codebase.settings.index.untracked:
        return plan
    listed = {planned.key for planned in plan.write}
    for name in (GIT_NAME, IGNORE_NAME):
        if name not in listed:
            plan = _add_rule_file(plan, name, codebase, view, source)
    return plan


def read_hidden_git_rules(codebase: Codebase, source: SourceTree) -> bytes | None:
    """The bytes of a `.gitignore` at the root that is not among the files of `source`, None without one."""
    if codebase.repo is not None and not codebase.settings.index.untracked:
        return None
    return None if GIT_NAME in source.list_files() else _read_rule_file(codebase, GIT_NAME)


def _add_rule_file(
    plan: Plan, name: PathKey, codebase: Codebase, view: SnapshotView | None, source: SourceTree
) -> Plan:
    record = view.record(name) if view is not None else None
    is_gone = name in plan.gone
    if record is not None and record.skip != SkipReason.IGNORED and not is_gone:
        return plan  # recorded as an ordinary file
    data = _read_rule_file(codebase, name)
    present_blob = blob_id(data, source.algorithm) if data is not None else None
    recorded_blob = record.blob if record is not None and record.skip == SkipReason.IGNORED else None
    if (present_blob == recorded_blob and not is_gone) or _is_tracked(source, name):
        return plan
    gone = [path for path in plan.gone if path != name]
    if present_blob is None or data is None:
        assert record is not None, "a path that is gone was recorded"
        return replace(plan, gone=tuple(sorted((*gone, name))), before={**plan.before, name: record})
    if present_blob == recorded_blob:  # the plan took it for deleted, because git does not list it
        other_records = {path: old for path, old in plan.before.items() if path != name}
        return replace(plan, gone=tuple(gone), before=other_records)
    planned = PlannedFile(
        key=name, blob=present_blob, link=False, source_file=None, skip=SkipReason.IGNORED, size=len(data)
    )
    old_records = {**plan.before, name: record} if record is not None else plan.before
    return replace(plan, write=(*plan.write, planned), gone=tuple(gone), before=old_records)


def _read_rule_file(codebase: Codebase, name: str) -> bytes | None:
    """None where it is missing or cannot be read: git ignores such a file, too."""
    try:
        return read_root_file(codebase.root, name)
    except ConfigError:
        return None


def _is_tracked(source: SourceTree, name: str) -> bool:
    return isinstance(source, GitSource) and source.find_entry(name.encode()) is not None
