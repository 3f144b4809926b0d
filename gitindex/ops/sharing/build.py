"""`build`: a snapshot of one commit from git objects alone, made to be published (RE-1, RE-8).

Settings and ignore rules come from the commit's own tree; the working tree is never looked at, so a bare
repository will do. The user's own index is not touched.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gitindex.config import Environment
from gitindex.errors import ExactFactsError, LeaseHeld
from gitindex.git.repo import Head
from gitindex.indexing.write import Progress
from gitindex.lifecycle import compact, gc
from gitindex.model.manifest import Manifest
from gitindex.ops.codebase import Codebase
from gitindex.ops.exact.refresh import FAILED, RefreshOptions, refresh_for_build
from gitindex.ops.sharing import download_snapshot, remote_session
from gitindex.ops.sharing.build_area import find_build, open_build_area
from gitindex.ops.sharing.build_base import BaseFinder, BuildBase
from gitindex.ops.sharing.build_options import BuildOptions, BuildReport, make_build_report, resolve_output
from gitindex.ops.syncing.parent_snapshot import ParentSnapshot
from gitindex.ops.syncing.sync_locked import locked_sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.ops.syncing.sync_report import SyncReport
from gitindex.remote.transport import OnProgress
from gitindex.store import lease, manifests, publish

MAX_SEGMENTS = 24  # half of what makes a reader compact: its own syncs come on top
MANY_BUILDS = 64


def build(
    path: Path,
    environment: Environment,
    options: BuildOptions | None = None,
    progress: Progress = lambda _p, _d, _t: None,
    transfer: OnProgress = lambda _: None,
) -> BuildReport:
    """Build the snapshot of a commit, or find that it is built already.

    Raises what a sync raises. A remote that fails only costs time: the build then starts elsewhere.
    """
    build_options, started = options or BuildOptions(), time.monotonic()
    home = resolve_output(build_options)
    codebase, revision = open_build_area(path, environment, build_options.rev, home)
    assert codebase.repo is not None
    assert revision.commit is not None
    repository = remote_session.find_repository_id(codebase.repo, codebase.settings.remote, revision.commit)
    with download_snapshot.lock_download_area(codebase.home, repository) as area:
        base = BuildBase()
        if not build_options.full and build_options.shard is None:
            base = BaseFinder(codebase, environment, repository, area, build_options.url, transfer).find(
                revision.commit
            )
        sync_report = _index(codebase, revision.commit, base, build_options, progress)
        download_snapshot.clear(area)
        _activate(codebase, sync_report.snapshot_id)
        if base.outside_history:
            compact.detach(codebase.layout)  # killed before, the build is not pushed but made again
        context_reports = _refresh(codebase, revision, build_options)
    manifest = find_build(codebase, revision.commit)
    if not sync_report.noop:
        _compact_and_collect(codebase, manifest)
        manifest = find_build(codebase, revision.commit)
    return replace(
        make_build_report(repository, revision, base, sync_report, manifest, started),
        indexers=context_reports,
    )


def _index(
    codebase: Codebase, commit: str, base: BuildBase, options: BuildOptions, progress: Progress
) -> SyncReport:
    def choose(_codebase: Codebase, _options: SyncOptions, stack: ExitStack) -> ParentSnapshot:
        return base.open(codebase, stack)

    shard_filter: Callable[[str], bool] | None = options.shard.holds if options.shard else None
    sync_options = SyncOptions(
        commit_only=True,
        rev=commit,
        portable=True,
        shard_filter=shard_filter,
        allow_degraded=options.allow_degraded,
        workers=options.workers,
    )
    return locked_sync(codebase, sync_options, progress, time.monotonic(), choose)


def _compact_and_collect(codebase: Codebase, manifest: Manifest) -> None:
    """Few segments for readers, and no pile of builds that nobody will push any more."""
    if len(manifest.segments) > MAX_SEGMENTS:
        compact.compact_deltas(codebase.layout)
    if len(manifests.list_ids(codebase.layout)) > MANY_BUILDS:
        with suppress(LeaseHeld):  # the next build collects
            gc.collect(codebase.layout, wait=0)


def _activate(codebase: Codebase, snapshot_id: str) -> None:
    """An earlier build that serves again: what follows works on the active snapshot."""
    if manifests.read_active_id(codebase.layout) != snapshot_id:
        with lease.hold(codebase.layout, snapshot_id, wait=30.0) as writer_lease:
            publish.swap(codebase.layout, writer_lease, snapshot_id)


def _refresh(codebase: Codebase, revision: Head, options: BuildOptions) -> tuple[dict[str, Any], ...]:
    """Exact facts of every project whose indexer is here; a failed run fails the build unless allowed.

    Raises SemanticError.
    """
    if not options.exact_facts or options.shard is not None:
        return ()
    refresh_options = RefreshOptions(
        allow_project_code=options.allow_project_code,
        python_env=options.python_env,
        node_modules=options.node_modules,
    )
    refresh_report = refresh_for_build(codebase, revision, refresh_options)
    failed = [context for context in refresh_report.contexts if context.outcome == FAILED]
    if failed and not options.allow_degraded:
        raise ExactFactsError(
            f"{failed[0].tool} failed for {failed[0].context}: {failed[0].message}",
            hint=failed[0].next or "gitindex build --no-semantic",
            indexers=[asdict(one) for one in failed],
        )
    return tuple(asdict(one) for one in refresh_report.contexts)
