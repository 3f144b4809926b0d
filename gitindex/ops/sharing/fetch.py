"""`fetch`: the nearest published ancestor, verified, installed, and caught up with this working tree (RE-3).

Find, prove, download outside the store, then one publish under the lease. Before that publish nothing of the
local index has changed; when it fails, what was installed is taken back (RE-6).
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace

from gitindex.errors import GitindexError, NotARepository
from gitindex.git.repo import head, resolve
from gitindex.indexing.write import Progress
from gitindex.model.ids import ulid
from gitindex.model.manifest import GitState, Manifest, Origin
from gitindex.ops.codebase import Codebase, fresh_state
from gitindex.ops.sharing import download_snapshot, remote_session, trusted_keys
from gitindex.ops.sharing.download_snapshot import Obtained, Way
from gitindex.ops.sharing.fetch_report import FetchReport, report
from gitindex.ops.sharing.published_snapshots import Finder, Published
from gitindex.ops.sharing.remote_session import Share
from gitindex.ops.syncing.catchup import serving_request
from gitindex.ops.syncing.git_fallback import scan_if_git_fails
from gitindex.ops.syncing.maintenance import after_sync
from gitindex.ops.syncing.parent_snapshot import Adopt, Base
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_locked import locked_sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.ops.syncing.sync_report import SyncReport
from gitindex.remote.transport import OnProgress, Patience
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
    patience: Patience | None = None


def fetch(
    codebase: Codebase,
    options: FetchOptions | None = None,
    progress: Progress = lambda _p, _d, _t: None,
    transfer: OnProgress = lambda _: None,
) -> FetchReport:
    """Bring the index of the present tree here with the least work.

    Raises Untrusted, IntegrityError, RemoteError, LeaseHeld and what a sync raises; then nothing changed.
    """
    chosen, started = options or FetchOptions(), time.monotonic()
    share, target = _open(codebase, chosen)
    steps.reach("fetch.find")
    # With an index here, a sync from it is nearer than what other branches have published.
    finder = Finder(share, elsewhere=manifests.read_active_id(codebase.layout) is None)
    with serving_request(codebase), download_snapshot.opened(codebase.home, share.repository) as area:
        way = Way(share, area, reusable(codebase), transfer, chosen.patience)
        found, obtained = finder.first(target, lambda one: None if _have(codebase, one) else way.bring(one))
        # Before anything is published: a trust file that cannot be written leaves the index as it was (RE-6).
        rotated = trusted_keys.remember(codebase.environment, share, found.trusted)
        caught_up = SyncOptions(allow_degraded=chosen.allow_degraded, workers=chosen.workers)
        if obtained is None:
            done = sync(codebase, caught_up, progress)
        else:
            done = _install(codebase, share, found, obtained, caught_up, progress)
        download_snapshot.clear(area)
    after_sync(codebase)
    steps.reach("fetch.done")
    told = report(share, target, found, obtained, done, finder, started)
    log.append(codebase.layout, "fetch", base=found.commit, bytes=told.bytes, elapsed_ms=told.elapsed_ms)
    return replace(told, rotated=tuple(key.id for key in rotated))


def is_pinned(codebase: Codebase) -> bool:
    """Whether the user trusts keys for this repository and named a remote; asks no server."""
    if codebase.repo is None:
        return False
    try:
        if head(codebase.repo).commit is None:
            return False
        name = remote_session.repository_id(codebase.repo, codebase.settings.remote)
    except GitindexError:
        return False
    found = remote_session.pinned(codebase.environment, codebase.repo, name)
    return bool(found.trusted and (found.remote or codebase.environment.remote))


def reusable(codebase: Codebase) -> tuple[Layout, ...]:
    """Stores whose files may save a download: this one and those of the same repository and configuration."""
    siblings = stores.find_siblings(codebase.home, codebase.layout, fresh_state(codebase))
    return (codebase.layout, *siblings)


def _open(codebase: Codebase, options: FetchOptions) -> tuple[Share, str]:
    if codebase.repo is None:
        raise NotARepository(f"{codebase.root} is not in a git repository", hint="gitindex sync")
    target = resolve(codebase.repo, options.rev).commit
    assert target is not None
    proposal = codebase.settings.remote
    name = remote_session.repository_id(codebase.repo, proposal, target)
    wanted = remote_session.published_fingerprint(codebase.settings)
    share = remote_session.open_reader(
        codebase.repo, name, wanted, codebase.environment, proposal, options.url
    )
    return share, target


def _have(codebase: Codebase, found: Published) -> bool:
    """Does the active snapshot stand on this very publication, believed for the same reason?"""
    snapshot_id = manifests.read_active_id(codebase.layout)
    if snapshot_id is None:
        return False
    try:
        origin = manifests.read(codebase.layout, snapshot_id).origin
    except GitindexError:
        return False
    signers = {key.id for key in found.trusted.signers}
    return origin.kind == "fetched" and origin.toc == found.claim.toc.sha256 and origin.signer in signers


def _install(
    codebase: Codebase,
    share: Share,
    found: Published,
    obtained: Obtained,
    options: SyncOptions,
    progress: Progress,
) -> SyncReport:
    """One publish: the fetched snapshot as parent, the local differences on top."""
    origin = Origin("fetched", found.commit, found.signer, share.url, found.claim.toc.sha256)
    manifest = replace(obtained.manifest, origin=origin)

    def choose(_codebase: Codebase, _options: SyncOptions, stack: ExitStack) -> Base:
        view = download_snapshot.install_below(codebase.layout, manifest, obtained, stack)
        adopt = _adopter(codebase, view) if _may_be_active(codebase.layout, manifest) else None
        return Base(view, seeded_from=f"{share.url} at {found.commit[:12]}", adopt=adopt)

    return scan_if_git_fails(
        codebase, options, lambda chosen: locked_sync(codebase, chosen, progress, time.monotonic(), choose)
    )


def _may_be_active(layout: Layout, manifest: Manifest) -> bool:
    """Ids are times, and retention goes by them: the newest here, and not of a publisher whose clock runs ahead."""
    here = manifests.list_ids(layout)  # newest first
    return not (here and here[0] > manifest.snapshot_id) and manifest.snapshot_id <= ulid()


def _adopter(codebase: Codebase, view: SnapshotView) -> Adopt:
    """Where the tree is the published commit's, the snapshot serves as it is: its marker names no root (ADR 13)."""

    def adopt(held: Lease, git: GitState) -> Manifest:
        local = replace(
            view.manifest,
            parent_snapshot_id=manifests.read_active_id(codebase.layout),
            canonical_root=str(codebase.root),
            store_id=codebase.layout.id,
            config_fingerprint=codebase.fingerprint,
            lease_epoch=held.epoch,
            git=git,
        )
        return publish.activate_installed(codebase.layout, held, local, view.verifier)

    return adopt
