"""`fetch`: install the nearest published snapshot and catch up with the working tree (RE-3).

Order: find and verify, download outside the store, then install, plan and publish once, under the lease. Until that
publish the local index is as it was; when it fails, the installed files are removed again (RE-6).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from gitindex.errors import GitError, GitindexError, IntegrityError, NotARepository
from gitindex.git.repo import read_head, resolve
from gitindex.indexing.write import Progress
from gitindex.model.ids import ulid
from gitindex.model.manifest import GitState, Manifest, Origin
from gitindex.ops.codebase import Codebase, initial_store_state
from gitindex.ops.sharing import download_snapshot, remote_session, trusted_keys
from gitindex.ops.sharing.download_snapshot import DownloadedSnapshot, SnapshotDownloader
from gitindex.ops.sharing.fetch_report import FetchReport, make_fetch_report
from gitindex.ops.sharing.published_snapshots import PublishedFinder, PublishedSnapshot
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.ops.syncing.catchup import serve_hook_request
from gitindex.ops.syncing.git_fallback import scan_instead
from gitindex.ops.syncing.maintenance import maintain_after_sync
from gitindex.ops.syncing.parent_snapshot import ParentSnapshot
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_locked import LockedStore, lock_store, plan_on_parent, publish_plan
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.ops.syncing.sync_report import SyncReport, make_noop_report
from gitindex.remote.transport import OnProgress, Timeouts
from gitindex.store import log, manifests, publish, steps, stores
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView


@dataclass(frozen=True, slots=True)
class FetchOptions:
    url: str = ""
    rev: str = "HEAD"
    allow_degraded: bool = False
    workers: int = 0
    timeouts: Timeouts | None = None


def fetch(
    codebase: Codebase,
    options: FetchOptions | None = None,
    progress: Progress = lambda _p, _d, _t: None,
    transfer: OnProgress = lambda _: None,
) -> FetchReport:
    """Index the present tree from the nearest published snapshot.

    Raises Untrusted, IntegrityError, RemoteError, LeaseHeld and what a sync raises; then nothing changed.
    """
    fetch_options, started = options or FetchOptions(), time.monotonic()
    session, target = _open_session(codebase, fetch_options)
    steps.reach("fetch.find")
    # With an index here, a sync from it is nearer than what other branches have published.
    has_index = manifests.read_active_id(codebase.layout) is not None
    finder = PublishedFinder(session, search_outside_history=not has_index)
    with (
        serve_hook_request(codebase),
        download_snapshot.lock_download_area(codebase.home, session.repository) as area,
    ):
        reusable_stores = list_reusable_stores(codebase)
        downloader = SnapshotDownloader(session, area, reusable_stores, transfer, fetch_options.timeouts)
        published, downloaded = _download_nearest(codebase, target, finder, downloader)
        # Before anything is published: a trust file that cannot be written leaves the index as it was (RE-6).
        rotated_keys = trusted_keys.update_pins(codebase.environment, session, published.trusted)
        sync_options = SyncOptions(allow_degraded=fetch_options.allow_degraded, workers=fetch_options.workers)
        if downloaded is None:
            sync_report = sync(codebase, sync_options, progress)
        else:
            with (
                lock_store(codebase, sync_options, time.monotonic()) as store,
                _install(store, session, published, downloaded) as parent,
            ):
                sync_report = _catch_up(store, parent, progress)
        download_snapshot.clear(area)
    maintain_after_sync(codebase)
    steps.reach("fetch.done")
    fetch_report = make_fetch_report(
        session=session,
        target=target,
        published=published,
        downloaded=downloaded,
        sync_report=sync_report,
        refusals=finder.refusals,
        rotated_keys=rotated_keys,
        started=started,
    )
    log.append(
        codebase.layout,
        "fetch",
        base=published.commit,
        bytes=fetch_report.bytes,
        elapsed_ms=fetch_report.elapsed_ms,
    )
    return fetch_report


def is_pinned(codebase: Codebase) -> bool:
    """Whether the user trusts keys for this repository and named a remote; asks no server."""
    if codebase.repo is None:
        return False
    try:
        if read_head(codebase.repo).commit is None:
            return False
        repository = remote_session.find_repository_id(codebase.repo, codebase.settings.remote)
    except GitindexError:
        return False
    pin = remote_session.load_pin(codebase.environment, codebase.repo, repository)
    return bool(pin.trusted and (pin.remote or codebase.environment.remote))


def list_reusable_stores(codebase: Codebase) -> tuple[Layout, ...]:
    """Stores whose files may save a download: this one and those of the same repository and configuration."""
    siblings = stores.find_siblings(codebase.home, codebase.layout, initial_store_state(codebase))
    return (codebase.layout, *siblings)


def _open_session(codebase: Codebase, options: FetchOptions) -> tuple[RemoteSession, str]:
    if codebase.repo is None:
        raise NotARepository(f"{codebase.root} is not in a git repository", hint="gitindex sync")
    target = resolve(codebase.repo, options.rev).commit
    assert target is not None
    proposal = codebase.settings.remote
    repository = remote_session.find_repository_id(codebase.repo, proposal, target)
    fingerprint = remote_session.published_fingerprint(codebase.settings)
    session = remote_session.open_reader(
        repo=codebase.repo,
        repository=repository,
        fingerprint=fingerprint,
        environment=codebase.environment,
        proposal=proposal,
        requested=options.url,
    )
    return session, target


def _download_nearest(
    codebase: Codebase, target: str, finder: PublishedFinder, downloader: SnapshotDownloader
) -> tuple[PublishedSnapshot, DownloadedSnapshot | None]:
    """Download the nearest snapshot that is whole; None in its place where it is installed already.

    Raises what the finder and the downloader raise.
    """
    for published in finder.iter_published(target):
        if _is_installed(codebase, published):
            return published, None
        try:
            return published, downloader.download(published)
        except IntegrityError as error:
            finder.skip_damaged(error)
    raise finder.not_found_error(target)


def _is_installed(codebase: Codebase, published: PublishedSnapshot) -> bool:
    """Whether the active snapshot was fetched from this publication, and one of its signers was trusted for it."""
    snapshot_id = manifests.read_active_id(codebase.layout)
    if snapshot_id is None:
        return False
    try:
        origin = manifests.read(codebase.layout, snapshot_id).origin
    except GitindexError:
        return False
    signers = {key.id for key in published.trusted.signers}
    return origin.kind == "fetched" and origin.toc == published.claim.toc.sha256 and origin.signer in signers


@contextmanager
def _install(
    store: LockedStore,
    session: RemoteSession,
    published: PublishedSnapshot,
    downloaded: DownloadedSnapshot,
) -> Iterator[ParentSnapshot]:
    """The downloaded snapshot as parent of the next publish; its files are removed when the body fails."""
    origin = Origin("fetched", published.commit, published.signer, session.url, published.claim.toc.sha256)
    manifest = replace(downloaded.manifest, origin=origin)
    with download_snapshot.open_installed(store.layout, manifest, downloaded) as view:
        yield ParentSnapshot(view, seeded_from=f"{session.url} at {published.commit[:12]}")


def _catch_up(store: LockedStore, parent: ParentSnapshot, progress: Progress) -> SyncReport:
    """Publish the local differences on top of `parent`; scan the files where git fails (C-1)."""
    try:
        return _publish_differences(store, parent, progress)
    except GitError as error:
        scan_options = scan_instead(store.codebase, store.options, error)
    return _publish_differences(replace(store.renew_snapshot_id(), options=scan_options), parent, progress)


def _publish_differences(store: LockedStore, parent: ParentSnapshot, progress: Progress) -> SyncReport:
    """One publish. Where there are no differences, the fetched snapshot itself becomes active (ADR 13)."""
    assert parent.view is not None
    with plan_on_parent(store, parent) as locked_plan:
        if locked_plan.matches_parent and _may_be_active(store.layout, parent.view.manifest):
            manifest = _activate(store, parent.view, locked_plan.source.git_state)
            return make_noop_report(manifest, store.started)
        return publish_plan(store, locked_plan, progress)


def _may_be_active(layout: Layout, manifest: Manifest) -> bool:
    """Snapshot ids are times, and retention compares them: a fetched id must be the newest here and not in the future
    (a publisher's clock may be ahead)."""
    snapshot_ids = manifests.list_ids(layout)  # newest first
    return not (snapshot_ids and snapshot_ids[0] > manifest.snapshot_id) and manifest.snapshot_id <= ulid()


def _activate(store: LockedStore, view: SnapshotView, git_state: GitState) -> Manifest:
    """Make the installed snapshot active under its own id: its completion marker names no root."""
    local_manifest = replace(
        view.manifest,
        parent_snapshot_id=manifests.read_active_id(store.layout),
        canonical_root=str(store.codebase.root),
        store_id=store.layout.id,
        config_fingerprint=store.codebase.fingerprint,
        lease_epoch=store.lease.epoch,
        git=git_state,
    )
    return publish.activate_installed(store.layout, store.lease, local_manifest, view.verifier)
