"""`build`: make a snapshot of one commit from git objects alone, to be published (RE-1, RE-8).

Settings and ignore rules come from the commit's own tree; the working tree is never read, so a bare repository is
enough. The user's own index is not touched.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gitindex.config import Environment
from gitindex.errors import ExactFactsError, LeaseHeld
from gitindex.indexing.write import Progress
from gitindex.lifecycle import compact, gc
from gitindex.model.manifest import Manifest
from gitindex.ops.codebase import Codebase
from gitindex.ops.exact.refresh import FAILED, RefreshOptions, refresh_for_build
from gitindex.ops.sharing import download_snapshot, remote_session
from gitindex.ops.sharing.build_area import BuildArea, find_build, open_build_area
from gitindex.ops.sharing.build_base import BaseFinder, BuildBase
from gitindex.ops.sharing.build_options import BuildOptions, BuildReport, make_build_report, resolve_output
from gitindex.ops.syncing.lease_waits import LEASE_WAIT
from gitindex.ops.syncing.sync_locked import lock_store, plan_on_parent, publish_plan
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.ops.syncing.sync_report import SyncReport
from gitindex.remote.transport import OnProgress
from gitindex.store import lease, manifests, publish

MAX_SEGMENTS = 24  # half of what makes a store compact: those who fetch the build sync on top of it
MANY_BUILDS = 64  # beyond this many snapshots a build area is collected


def build(
    path: Path,
    environment: Environment,
    options: BuildOptions | None = None,
    progress: Progress = lambda _p, _d, _t: None,
    transfer: OnProgress = lambda _: None,
) -> BuildReport:
    """Build the snapshot of a commit, or find that it is built already.

    Raises what a sync raises. A failing remote is not an error: the build then starts from a local snapshot or from
    nothing.
    """
    build_options, started = options or BuildOptions(), time.monotonic()
    build_area = open_build_area(path, environment, build_options.rev, resolve_output(build_options))
    codebase, commit = build_area.codebase, build_area.commit
    repository = remote_session.find_repository_id(build_area.repo, codebase.settings.remote, commit)
    with download_snapshot.lock_download_area(codebase.home, repository) as area:
        base = BuildBase()
        if not build_options.full and build_options.shard is None:
            finder = BaseFinder(
                codebase, environment, repository, area, url=build_options.url, transfer=transfer
            )
            base = finder.find(commit)
        sync_report = _index(codebase, commit, base, build_options, progress)
        download_snapshot.clear(area)
        _activate(codebase, sync_report.snapshot_id)
        if base.outside_history:
            compact.detach(codebase.layout)  # a build killed before this is not pushed but made again
        context_reports = _refresh(build_area, build_options)
    manifest = find_build(codebase, commit)
    if not sync_report.noop:
        _compact_and_collect(codebase, manifest)
        manifest = find_build(codebase, commit)
    return make_build_report(
        repository=repository,
        build_area=build_area,
        base=base,
        sync_report=sync_report,
        manifest=manifest,
        context_reports=context_reports,
        started=started,
    )


def _index(
    codebase: Codebase, commit: str, base: BuildBase, options: BuildOptions, progress: Progress
) -> SyncReport:
    sync_options = SyncOptions(
        commit_only=True,
        rev=commit,
        portable=True,
        shard_filter=options.shard.holds if options.shard else None,
        allow_degraded=options.allow_degraded,
        workers=options.workers,
    )
    with (
        lock_store(codebase, sync_options, time.monotonic()) as store,
        base.open(codebase) as parent,
        plan_on_parent(store, parent) as locked_plan,
    ):
        return publish_plan(store, locked_plan, progress)


def _compact_and_collect(codebase: Codebase, manifest: Manifest) -> None:
    """Keep the segments of the build and the snapshots of the build area few."""
    if len(manifest.segments) > MAX_SEGMENTS:
        compact.compact_deltas(codebase.layout)
    if len(manifests.list_ids(codebase.layout)) > MANY_BUILDS:
        with suppress(LeaseHeld):  # the next build collects
            gc.collect(codebase.layout, wait=0)


def _activate(codebase: Codebase, snapshot_id: str) -> None:
    """Make an earlier build of the commit active again: the refresh works on the active snapshot."""
    if manifests.read_active_id(codebase.layout) != snapshot_id:
        with lease.hold(codebase.layout, snapshot_id, wait=LEASE_WAIT) as writer_lease:
            publish.swap(codebase.layout, writer_lease, snapshot_id)


def _refresh(build_area: BuildArea, options: BuildOptions) -> tuple[dict[str, Any], ...]:
    """Exact facts of every context whose indexer is installed; a failed run fails the build unless it may be degraded.

    Raises ExactFactsError.
    """
    if not options.exact_facts or options.shard is not None:
        return ()
    refresh_options = RefreshOptions(
        allow_project_code=options.allow_project_code,
        python_env=options.python_env,
        node_modules=options.node_modules,
    )
    refresh_report = refresh_for_build(build_area.codebase, build_area.head, refresh_options)
    failed = [context for context in refresh_report.contexts if context.outcome == FAILED]
    if failed and not options.allow_degraded:
        raise ExactFactsError(
            f"{failed[0].tool} failed for {failed[0].context}: {failed[0].message}",
            hint=failed[0].next or "gitindex build --no-semantic",
            indexers=[asdict(context) for context in failed],
        )
    return tuple(asdict(context) for context in refresh_report.contexts)
