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
from gitindex.errors import LeaseHeld, SemanticError
from gitindex.git.repo import Head
from gitindex.indexing.write import Progress
from gitindex.lifecycle import compact, gc
from gitindex.model.manifest import Manifest
from gitindex.ops.codebase import Codebase
from gitindex.ops.exact.refresh import FAILED, RefreshOptions, refresh_for_build
from gitindex.ops.sharing import download_snapshot, remote_session
from gitindex.ops.sharing.build_area import built, open_area
from gitindex.ops.sharing.build_base import Seeker, Start
from gitindex.ops.sharing.build_options import BuildOptions, BuildReport, output_of, report
from gitindex.ops.syncing.parent_snapshot import Base
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
    chosen, started = options or BuildOptions(), time.monotonic()
    home = output_of(chosen)
    codebase, at = open_area(path, environment, chosen.rev, home)
    assert codebase.repo is not None
    assert at.commit is not None
    name = remote_session.repository_id(codebase.repo, codebase.settings.remote, at.commit)
    with download_snapshot.opened(codebase.home, name) as area:
        start = Start()
        if not chosen.full and chosen.shard is None:
            start = Seeker(codebase, environment, name, area, chosen.url, transfer).find(at.commit)
        done = _index(codebase, at.commit, start, chosen, progress)
        download_snapshot.clear(area)
        _activate(codebase, done.snapshot_id)
        if start.leaves_behind:
            compact.detach(codebase.layout)  # killed before, the build is not pushed but made again
        exact = _refresh(codebase, at, chosen)
    manifest = built(codebase, at.commit)
    if not done.noop:
        _keep_house(codebase, manifest)
        manifest = built(codebase, at.commit)
    return replace(report(name, at, start, done, manifest, started), indexers=exact)


def _index(
    codebase: Codebase, commit: str, start: Start, options: BuildOptions, progress: Progress
) -> SyncReport:
    def choose(_codebase: Codebase, _options: SyncOptions, stack: ExitStack) -> Base:
        return start.open(codebase, stack)

    share: Callable[[str], bool] | None = options.shard.holds if options.shard else None
    wanted = SyncOptions(
        commit_only=True,
        rev=commit,
        portable=True,
        share=share,
        allow_degraded=options.allow_degraded,
        workers=options.workers,
    )
    return locked_sync(codebase, wanted, progress, time.monotonic(), choose)


def _keep_house(codebase: Codebase, manifest: Manifest) -> None:
    """Few segments for readers, and no pile of builds that nobody will push any more."""
    if len(manifest.segments) > MAX_SEGMENTS:
        compact.compact_deltas(codebase.layout)
    if len(manifests.list_ids(codebase.layout)) > MANY_BUILDS:
        with suppress(LeaseHeld):  # the next build collects
            gc.collect(codebase.layout, wait=0)


def _activate(codebase: Codebase, snapshot_id: str) -> None:
    """An earlier build that serves again: what follows works on the active snapshot."""
    if manifests.read_active_id(codebase.layout) != snapshot_id:
        with lease.hold(codebase.layout, snapshot_id, wait=30.0) as held:
            publish.swap(codebase.layout, held, snapshot_id)


def _refresh(codebase: Codebase, at: Head, options: BuildOptions) -> tuple[dict[str, Any], ...]:
    """Exact facts of every project whose indexer is here; a failed run fails the build unless allowed.

    Raises SemanticError.
    """
    if not options.semantic or options.shard is not None:
        return ()
    wanted = RefreshOptions(
        allow_project_code=options.allow_project_code,
        python_env=options.python_env,
        node_modules=options.node_modules,
    )
    done = refresh_for_build(codebase, at, wanted)
    failed = [one for one in done.contexts if one.outcome == FAILED]
    if failed and not options.allow_degraded:
        raise SemanticError(
            f"{failed[0].tool} failed for {failed[0].context}: {failed[0].message}",
            hint=failed[0].next or "gitindex build --no-semantic",
            indexers=[asdict(one) for one in failed],
        )
    return tuple(asdict(one) for one in done.contexts)
