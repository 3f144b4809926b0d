"""Open the tree to index, and plan what a sync has to write on top of a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gitindex import config
from gitindex.files.ignore import fingerprint_rules
from gitindex.git.status import PendingStatus
from gitindex.indexing.plan import Plan, Planner
from gitindex.model.frozen import frozen
from gitindex.model.ids import blob_id
from gitindex.model.manifest import GitState, Manifest
from gitindex.model.rulefiles import GIT_NAME, is_rule_file
from gitindex.ops.codebase import Codebase, read_root_file
from gitindex.ops.syncing.eligibility import make_policy
from gitindex.ops.syncing.hidden_rules import add_hidden_rules, read_hidden_git_rules
from gitindex.ops.syncing.lease_waits import LEASE_WAIT
from gitindex.source.directory import DirectorySource, WithoutGit
from gitindex.source.gittree import GitSource, open_commit, open_worktree
from gitindex.source.source_file import SourceTree
from gitindex.store import lease
from gitindex.view.snapshot import SnapshotView

if TYPE_CHECKING:
    from gitindex.indexing.write import WriteResult


@frozen
class SyncOptions:
    full: bool = False  # write every file anew
    commit_only: bool = False  # index `rev`, not the working tree
    rev: str = "HEAD"
    allow_degraded: bool = False
    lease_wait: float = LEASE_WAIT
    workers: int = 0  # 0: as many as cores
    lease_ttl_ms: int = lease.TTL_MS
    portable: bool = (
        False  # the completion marker names no path of this machine: the snapshot is to be published
    )
    shard_filter: Callable[[str], bool] | None = None  # the paths to write; None: all (RE-8)
    without_git: WithoutGit | None = None  # git failed: scan the files instead


@frozen
class PlannedSync:
    """A plan made without the lease. `source` was opened while `view` was the active snapshot."""

    view: SnapshotView
    source: SourceTree
    plan: Plan

    @property
    def is_up_to_date(self) -> bool:
        """The snapshot equals the present tree: there is nothing to publish."""
        return (
            self.plan.is_empty and not self.plan.errors and not _has_changed(self.view.manifest, self.source)
        )


def is_commit_only(codebase: Codebase, options: SyncOptions) -> bool:
    """Whether the working tree is left out. The setting `clean_only` has no effect outside of a repository."""
    return options.commit_only or (codebase.repo is not None and codebase.settings.index.clean_only)


def open_source(
    codebase: Codebase, options: SyncOptions, *, bulk: bool, pending_status: PendingStatus | None = None
) -> SourceTree:
    """The tree that `options` name. `pending_status` is a `git status` already running, for a working tree."""
    limit = codebase.settings.index.limits.file_bytes
    if codebase.repo is None or options.without_git is not None:
        return DirectorySource(codebase.root, max_bytes=limit, without_git=options.without_git)
    if is_commit_only(codebase, options):
        return open_commit(codebase.repo, options.rev, max_bytes=limit, bulk=bulk)
    untracked = codebase.settings.index.untracked
    nested = codebase.settings.index.submodules
    return open_worktree(
        codebase.repo,
        untracked=untracked,
        max_bytes=limit,
        nested=nested,
        bulk=bulk,
        pending_status=pending_status,
    )


def make_plan(
    codebase: Codebase,
    view: SnapshotView | None,
    source: SourceTree,
    options: SyncOptions,
    *,
    compare_all: bool = False,
) -> Plan:
    rules = read_ignore_rules(codebase, source, options)
    planner = Planner(view, source, make_policy(codebase.settings, rules))
    plan = planner.plan(whole=compare_all or (view is not None and _have_rules_changed(view, source, rules)))
    if not is_commit_only(codebase, options):
        plan = add_hidden_rules(plan, codebase, view, source)
    if options.shard_filter is None:
        return plan
    return replace(plan, write=tuple(planned for planned in plan.write if options.shard_filter(planned.key)))


def read_ignore_rules(codebase: Codebase, source: SourceTree, options: SyncOptions) -> bytes | None:
    if is_commit_only(codebase, options) and isinstance(source, GitSource):
        entry = source.find_entry(config.IGNORE_NAME.encode())
        return source.read_blob(entry.blob) if entry else None
    return read_root_file(codebase.root, config.IGNORE_NAME)


def _have_rules_changed(view: SnapshotView, source: SourceTree, rules: bytes | None) -> bool:
    """Whether the ignore file differs from the recorded one: then any path may be affected, and all are compared."""
    record = view.record(config.IGNORE_NAME)
    present_blob = blob_id(rules, source.algorithm) if rules is not None else None
    return present_blob != (record.blob if record else None)


def _has_changed(manifest: Manifest, source: SourceTree) -> bool:
    """The same files at another commit need a new snapshot too: `indexed_commit` must be true (CS-5)."""
    return (
        has_moved(manifest.git, source.git_state)
        or manifest.git.dirty != source.git_state.dirty
        or manifest.degraded
    )


def has_moved(recorded: GitState, present: GitState) -> bool:
    """Whether the commit changed, or whether and how git fails."""
    return recorded.head_sha != present.head_sha or _failure_key(recorded) != _failure_key(present)


def _failure_key(state: GitState) -> tuple[str, str] | None:
    return (state.failure.code, state.failure.kind) if state.failure else None


def compute_ignore_fingerprint(
    codebase: Codebase,
    source: SourceTree,
    options: SyncOptions,
    parent: Manifest | None,
    outcome: WriteResult,
) -> str:
    """The parent's fingerprint, computed anew only when a sync touched a rule file (CF-2)."""
    touched = {*outcome.written, *outcome.plan.gone}
    if parent is not None and not any(map(is_rule_file, touched)):
        return parent.ignore_fingerprint
    rule_files = [
        item for path, item in source.list_files().items() if is_rule_file(path) and item.skip is None
    ]
    files: dict[str, bytes] = {item.key: content.data for item, content in source.read(rule_files)}
    rules = read_ignore_rules(codebase, source, options)
    if rules is not None:
        files[config.IGNORE_NAME] = rules
    hidden_rules = None if is_commit_only(codebase, options) else read_hidden_git_rules(codebase, source)
    if hidden_rules is not None:
        files[GIT_NAME] = hidden_rules
    return fingerprint_rules(files)
