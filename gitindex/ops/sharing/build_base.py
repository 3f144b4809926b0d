"""Find the snapshot that a build starts from: the nearest ancestor that is published or was built here (RE-1).

A snapshot is published with the segments of its base, so these must not hold content from outside the history of the
commit. At equal distance the published snapshot is taken, because its segments are on the remote already. After a force
push no ancestor may be left: then any published snapshot saves work, and what it holds besides the commit's own tree is
removed before anything is published (`outside_history`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitindex.config import Environment
from gitindex.errors import GitindexError, IntegrityError
from gitindex.git.history import is_ancestor
from gitindex.git.repo import ancestors, has_commit
from gitindex.model.manifest import Manifest, Origin
from gitindex.ops.codebase import Codebase
from gitindex.ops.sharing import remote_session, signing_keys
from gitindex.ops.sharing.build_area import list_builds
from gitindex.ops.sharing.download_snapshot import DownloadedSnapshot, SnapshotDownloader, open_installed
from gitindex.ops.sharing.published_snapshots import DEPTH, PublishedFinder, PublishedSnapshot
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.ops.syncing.parent_snapshot import ParentSnapshot
from gitindex.remote.transport import OnProgress
from gitindex.store import install_snapshot
from gitindex.store.integrity import Verifier
from gitindex.store.readers import ReadersLock
from gitindex.trust.verify import TrustPolicy
from gitindex.view.snapshot import SnapshotView

LEFT_BEHIND = "left behind"


@dataclass(frozen=True, slots=True)
class BuildBase:
    kind: str = "none"  # published | local | none
    commit: str | None = None
    local_manifest: Manifest | None = None
    downloaded: DownloadedSnapshot | None = None
    remark: str = ""  # why no published ancestor was used
    outside_history: bool = False  # the base is no ancestor: what the commit does not have must be removed

    @contextmanager
    def open(self, codebase: Codebase) -> Iterator[ParentSnapshot]:
        """The snapshot to build upon. Needs the lease."""
        layout = codebase.layout
        if self.local_manifest is not None:
            with SnapshotView(layout, self.local_manifest, ReadersLock(layout), Verifier(layout)) as view:
                yield ParentSnapshot(view)
        elif self.downloaded is not None:
            origin = Origin(LEFT_BEHIND) if self.outside_history else Origin()
            manifest = replace(self.downloaded.manifest, store_id=layout.id, origin=origin)
            with open_installed(layout, manifest, self.downloaded, keep=True) as view:
                install_snapshot.register_snapshot(layout, manifest)
                yield ParentSnapshot(view)
        else:
            yield ParentSnapshot()


@dataclass(frozen=True, slots=True)
class BaseFinder:
    """Searches the remote and the build area for a base."""

    codebase: Codebase
    environment: Environment
    repository: str
    area: Path
    url: str = ""
    transfer: OnProgress = field(default=lambda _: None)

    def find(self, commit: str) -> BuildBase:
        """A failing or untrusted remote is not an error: the build starts from a local snapshot or from nothing."""
        local_base, depth = self._find_local(commit)
        try:
            session = self._open_session()
            finder = PublishedFinder(
                session, depth=depth, search_outside_history=local_base.local_manifest is None
            )
            downloader = SnapshotDownloader(session, self.area, (self.codebase.layout,), self.transfer)
            published, downloaded = _download_nearest(commit, finder, downloader)
        except GitindexError as error:
            return replace(local_base, remark=error.message)
        base = BuildBase("published", published.commit, downloaded=downloaded)
        if not published.outside_history or self._descends_from(commit, published.commit):
            return base
        remark = f"no ancestor is published; {published.commit[:12]} is none, and only its work was used"
        return replace(base, remark=remark, outside_history=True)

    def _descends_from(self, commit: str, base: str) -> bool:
        repo = self.codebase.repo
        assert repo is not None
        return has_commit(repo, base) and is_ancestor(repo, base, commit)

    def _find_local(self, commit: str) -> tuple[BuildBase, int]:
        """The nearest local build, and how many ancestors are at least as near: the remote is searched only there."""
        assert self.codebase.repo is not None
        local_builds = {
            manifest.git.head_sha: manifest
            for manifest in reversed(list_builds(self.codebase))
            if _is_clean(manifest)
        }
        for position, ancestor in enumerate(ancestors(self.codebase.repo, commit, DEPTH)):
            if ancestor in local_builds and _is_intact(self.codebase, local_builds[ancestor]):
                return BuildBase("local", ancestor, local_builds[ancestor]), position + 1
        return BuildBase(), DEPTH

    def _open_session(self) -> RemoteSession:
        """Trust what this user pinned, and what the publisher's own key signed."""
        repo = self.codebase.repo
        assert repo is not None
        own_key = signing_keys.load_signing_key(self.environment)
        pin = remote_session.load_pin(self.environment, repo, self.repository)
        if own_key is None:
            return remote_session.open_reader(
                repo=repo,
                repository=self.repository,
                fingerprint=self.codebase.fingerprint,
                environment=self.environment,
                proposal=self.codebase.settings.remote,
                requested=self.url,
            )
        policy = pin.policy
        extended_policy = TrustPolicy(
            (*policy.trusted_keys, own_key.public), policy.revoked_ids, policy.threshold
        )
        return remote_session.open_writer(
            repo=repo,
            repository=self.repository,
            fingerprint=self.codebase.fingerprint,
            environment=self.environment,
            requested=self.url,
            policy=extended_policy,
        )


def _download_nearest(
    commit: str, finder: PublishedFinder, downloader: SnapshotDownloader
) -> tuple[PublishedSnapshot, DownloadedSnapshot]:
    """Download the nearest snapshot that is whole. Raises what the finder and the downloader raise."""
    for published in finder.iter_published(commit):
        try:
            return published, downloader.download(published)
        except IntegrityError as error:
            finder.skip_damaged(error)
    raise finder.not_found_error(commit)


def _is_clean(manifest: Manifest) -> bool:
    return not manifest.git.dirty and not manifest.git.untracked_included and manifest.origin == Origin()


def _is_intact(codebase: Codebase, manifest: Manifest) -> bool:
    verifier = Verifier(codebase.layout)
    try:
        for artifact in manifest.artifacts():
            verifier.verified_path(artifact)
    except IntegrityError:
        return False
    return True
