"""`fetch`: the nearest published ancestor, verified, installed, and caught up with this working tree (RE-3).

Find, prove, download outside the store, then one publish under the lease. Before that publish nothing of the
local index has changed; when it fails, what was installed is taken back (RE-6).
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from gitindex.errors import GitindexError, NotARepository
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
from gitindex.ops.syncing.git_fallback import scan_if_git_fails
from gitindex.ops.syncing.maintenance import maintain_after_sync
from gitindex.ops.syncing.parent_snapshot import Adopt, ParentSnapshot
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_locked import locked_sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.ops.syncing.sync_report import SyncReport
from gitindex.remote.transport import OnProgress, Timeouts
from gitindex.store import log, manifests, publish, steps, stores
from gitindex.store.layout import Layout
from gitindex.store.lease import Lease
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
    """Bring the index of the present tree here with the least work.

    Raises Untrusted, IntegrityError, RemoteError, LeaseHeld and what a sync raises; then nothing changed.
    """
    fetch_options, started = options or FetchOptions(), time.monotonic()
    session, target = _open_session(codebase, fetch_options)
    steps.reach("fetch.find")
    # With an index here, a sync from it is nearer than what other branches have published.
    finder = PublishedFinder(
        session, search_outside_history=manifests.read_active_id(codebase.layout) is None
    )
    with (
        serve_hook_request(codebase),
        download_snapshot.lock_download_area(codebase.home, session.repository) as area,
    ):
        downloader = SnapshotDownloader(
            session, area, list_reusable_stores(codebase), transfer, fetch_options.timeouts
        )
        published, downloaded = finder.find_nearest(
            target, lambda one: None if _is_installed(codebase, one) else downloader.download(one)
        )
        # Before anything is published: a trust file that cannot be written leaves the index as it was (RE-6).
        rotated_keys = trusted_keys.update_pins(codebase.environment, session, published.trusted)
        sync_options = SyncOptions(allow_degraded=fetch_options.allow_degraded, workers=fetch_options.workers)
        if downloaded is None:
            sync_report = sync(codebase, sync_options, progress)
        else:
            sync_report = _install(codebase, session, published, downloaded, sync_options, progress)
        download_snapshot.clear(area)
    maintain_after_sync(codebase)
    steps.reach("fetch.done")
    fetch_report = make_fetch_report(session, target, published, downloaded, sync_report, finder, started)
    log.append(
        codebase.layout,
        "fetch",
        base=published.commit,
        bytes=fetch_report.bytes,
        elapsed_ms=fetch_report.elapsed_ms,
    )
    return replace(fetch_report, rotated=tuple(key.id for key in rotated_keys))


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
        codebase.repo, repository, fingerprint, codebase.environment, proposal, options.url
    )
    return session, target


def _is_installed(codebase: Codebase, published: PublishedSnapshot) -> bool:
    """Does the active snapshot stand on this very publication, believed for the same reason?"""
    snapshot_id = manifests.read_active_id(codebase.layout)
    if snapshot_id is None:
        return False
    try:
        origin = manifests.read(codebase.layout, snapshot_id).origin
    except GitindexError:
        return False
    signers = {key.id for key in published.trusted.signers}
    return origin.kind == "fetched" and origin.toc == published.claim.toc.sha256 and origin.signer in signers


def _install(
    codebase: Codebase,
    session: RemoteSession,
    published: PublishedSnapshot,
    downloaded: DownloadedSnapshot,
    options: SyncOptions,
    progress: Progress,
) -> SyncReport:
    """One publish: the fetched snapshot as parent, the local differences on top."""
    origin = Origin("fetched", published.commit, published.signer, session.url, published.claim.toc.sha256)
    manifest = replace(downloaded.manifest, origin=origin)

    def choose(_codebase: Codebase, _options: SyncOptions, stack: ExitStack) -> ParentSnapshot:
        view = download_snapshot.install_parent(codebase.layout, manifest, downloaded, stack)
        adopt = _make_adopt(codebase, view) if _may_be_active(codebase.layout, manifest) else None
        return ParentSnapshot(view, seeded_from=f"{session.url} at {published.commit[:12]}", adopt=adopt)

    return scan_if_git_fails(
        codebase, options, lambda chosen: locked_sync(codebase, chosen, progress, time.monotonic(), choose)
    )


def _may_be_active(layout: Layout, manifest: Manifest) -> bool:
    """Ids are times, and retention goes by them: the newest here, and not of a publisher whose clock runs ahead."""
    snapshot_ids = manifests.list_ids(layout)  # newest first
    return not (snapshot_ids and snapshot_ids[0] > manifest.snapshot_id) and manifest.snapshot_id <= ulid()


def _make_adopt(codebase: Codebase, view: SnapshotView) -> Adopt:
    """Where the tree is the published commit's, the snapshot serves as it is: its marker names no root (ADR 13)."""

    def adopt(writer_lease: Lease, git: GitState) -> Manifest:
        local_manifest = replace(
            view.manifest,
            parent_snapshot_id=manifests.read_active_id(codebase.layout),
            canonical_root=str(codebase.root),
            store_id=codebase.layout.id,
            config_fingerprint=codebase.fingerprint,
            lease_epoch=writer_lease.epoch,
            git=git,
        )
        return publish.activate_installed(codebase.layout, writer_lease, local_manifest, view.verifier)

    return adopt
