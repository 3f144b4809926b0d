"""Where a build begins: the nearest ancestor that is published or was built here, else any published snapshot (RE-1).

Older segments travel with every later snapshot, and must not hold content that the history of the commit does not have.
At equal distance the published one wins, because its segments are shared already. After a force push there may be no
such ancestor: then a snapshot that the branch left behind saves the work, and what it holds besides the commit's own
tree is removed before anything is published (`outside_history`).
"""

from __future__ import annotations

from contextlib import ExitStack
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
from gitindex.ops.sharing.download_snapshot import DownloadedSnapshot, SnapshotDownloader, install_parent
from gitindex.ops.sharing.published_snapshots import DEPTH, PublishedFinder
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
    outside_history: bool = False  # the base is no ancestor: what the commit does not have must go

    def open(self, codebase: Codebase, stack: ExitStack) -> ParentSnapshot:
        """The view to build upon. Needs the lease."""
        if self.local_manifest is not None:
            view = SnapshotView(
                codebase.layout, self.local_manifest, ReadersLock(codebase.layout), Verifier(codebase.layout)
            )
            return ParentSnapshot(stack.enter_context(view))
        if self.downloaded is None:
            return ParentSnapshot()
        origin = Origin(LEFT_BEHIND) if self.outside_history else Origin()
        manifest = replace(self.downloaded.manifest, store_id=codebase.layout.id, origin=origin)
        view = install_parent(codebase.layout, manifest, self.downloaded, stack, keep=True)
        install_snapshot.register_snapshot(codebase.layout, manifest)
        return ParentSnapshot(view)


@dataclass(frozen=True, slots=True)
class BaseFinder:
    """What is needed to look for a start."""

    codebase: Codebase
    environment: Environment
    repository: str
    area: Path
    url: str = ""
    transfer: OnProgress = field(default=lambda _: None)

    def find(self, commit: str) -> BuildBase:
        """A remote that is missing, fails or is not believed only costs time."""
        local_base, depth = self._find_local(commit)
        try:
            session = self._open_session()
            finder = PublishedFinder(
                session, depth=depth, search_outside_history=local_base.local_manifest is None
            )
            downloader = SnapshotDownloader(session, self.area, (self.codebase.layout,), self.transfer)
            published, downloaded = finder.find_nearest(commit, downloader.download)
        except GitindexError as error:
            return replace(local_base, remark=error.message)
        if not published.outside_history or self._descends_from(commit, published.commit):
            return BuildBase("published", published.commit, None, downloaded)
        remark = f"no ancestor is published; {published.commit[:12]} is none, and only its work was used"
        return BuildBase("published", published.commit, None, downloaded, remark, outside_history=True)

    def _descends_from(self, commit: str, base: str) -> bool:
        repo = self.codebase.repo
        assert repo is not None
        return has_commit(repo, base) and is_ancestor(repo, base, commit)

    def _find_local(self, commit: str) -> tuple[BuildBase, int]:
        """The nearest local build, and how many commits are at least as near."""
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
        """Believe what this user pinned, and what the publisher's own key signed."""
        repo = self.codebase.repo
        assert repo is not None
        own_key = signing_keys.load_signing_key(self.environment)
        pin = remote_session.load_pin(self.environment, repo, self.repository)
        if own_key is None:
            return remote_session.open_reader(
                repo, self.repository, self.codebase.fingerprint, self.environment,
                self.codebase.settings.remote, self.url,
            )  # fmt: skip
        policy = pin.policy
        extended_policy = TrustPolicy(
            (*policy.trusted_keys, own_key.public), policy.revoked_ids, policy.threshold
        )
        return remote_session.open_writer(
            repo, self.repository, self.codebase.fingerprint, self.environment, self.url, extended_policy
        )


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
