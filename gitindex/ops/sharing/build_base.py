"""Where a build begins: the nearest ancestor that is published or was built here, else any published snapshot (RE-1).

Older segments travel with every later snapshot, and must not hold content that the history of the commit does not have.
At equal distance the published one wins, because its segments are shared already. After a force push there may be no
such ancestor: then a snapshot that the branch left behind saves the work, and what it holds besides the commit's own
tree is removed before anything is published (`leaves_behind`).
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitindex.config import Environment
from gitindex.errors import GitindexError, IntegrityError
from gitindex.git.history import is_ancestor
from gitindex.git.repo import ancestors, is_known
from gitindex.model.manifest import Manifest, Origin
from gitindex.ops.codebase import Codebase
from gitindex.ops.sharing import remote_session, signing_keys
from gitindex.ops.sharing.build_area import builds
from gitindex.ops.sharing.download_snapshot import Obtained, Way, install_below
from gitindex.ops.sharing.published_snapshots import DEPTH, Finder
from gitindex.ops.sharing.remote_session import Share
from gitindex.ops.syncing.parent_snapshot import Base
from gitindex.remote.transport import OnProgress
from gitindex.store import install_snapshot
from gitindex.store.integrity import Verifier
from gitindex.store.readers import ReadersLock
from gitindex.trust.verify import TrustPolicy
from gitindex.view.snapshot import SnapshotView

LEFT_BEHIND = "left behind"


@dataclass(frozen=True, slots=True)
class Start:
    kind: str = "none"  # published | local | none
    commit: str | None = None
    local: Manifest | None = None
    obtained: Obtained | None = None
    note: str = ""  # why no published ancestor was used
    leaves_behind: bool = False  # the base is no ancestor: what the commit does not have must go

    def open(self, codebase: Codebase, stack: ExitStack) -> Base:
        """The view to build upon. Needs the lease."""
        if self.local is not None:
            view = SnapshotView(
                codebase.layout, self.local, ReadersLock(codebase.layout), Verifier(codebase.layout)
            )
            return Base(stack.enter_context(view))
        if self.obtained is None:
            return Base()
        origin = Origin(LEFT_BEHIND) if self.leaves_behind else Origin()
        manifest = replace(self.obtained.manifest, store_id=codebase.layout.id, origin=origin)
        view = install_below(codebase.layout, manifest, self.obtained, stack, keep=True)
        install_snapshot.register_snapshot(codebase.layout, manifest)
        return Base(view)


@dataclass(frozen=True, slots=True)
class Seeker:
    """What is needed to look for a start."""

    codebase: Codebase
    environment: Environment
    repository: str
    area: Path
    url: str = ""
    transfer: OnProgress = field(default=lambda _: None)

    def find(self, commit: str) -> Start:
        """A remote that is missing, fails or is not believed only costs time."""
        local, depth = self._local(commit)
        try:
            share = self._share()
            finder = Finder(share, depth=depth, elsewhere=local.local is None)
            way = Way(share, self.area, (self.codebase.layout,), self.transfer)
            found, obtained = finder.first(commit, way.bring)
        except GitindexError as error:
            return replace(local, note=error.message)
        if not found.elsewhere or self._descends(commit, found.commit):
            return Start("published", found.commit, None, obtained)
        note = f"no ancestor is published; {found.commit[:12]} is none, and only its work was used"
        return Start("published", found.commit, None, obtained, note, leaves_behind=True)

    def _descends(self, commit: str, base: str) -> bool:
        repo = self.codebase.repo
        assert repo is not None
        return is_known(repo, base) and is_ancestor(repo, base, commit)

    def _local(self, commit: str) -> tuple[Start, int]:
        """The nearest local build, and how many commits are at least as near."""
        assert self.codebase.repo is not None
        here = {one.git.head_sha: one for one in reversed(builds(self.codebase)) if _clean(one)}
        for position, ancestor in enumerate(ancestors(self.codebase.repo, commit, DEPTH)):
            if ancestor in here and _whole(self.codebase, here[ancestor]):
                return Start("local", ancestor, here[ancestor]), position + 1
        return Start(), DEPTH

    def _share(self) -> Share:
        """Believe what this user pinned, and what the publisher's own key signed."""
        repo = self.codebase.repo
        assert repo is not None
        own = signing_keys.signing_key(self.environment)
        pinned = remote_session.pinned(self.environment, repo, self.repository)
        if own is None:
            return remote_session.open_reader(
                repo, self.repository, self.codebase.fingerprint, self.environment,
                self.codebase.settings.remote, self.url,
            )  # fmt: skip
        policy = pinned.policy
        believed = TrustPolicy((*policy.trusted_keys, own.public), policy.revoked_ids, policy.threshold)
        return remote_session.open_writer(
            repo, self.repository, self.codebase.fingerprint, self.environment, self.url, believed
        )


def _clean(manifest: Manifest) -> bool:
    return not manifest.git.dirty and not manifest.git.untracked_included and manifest.origin == Origin()


def _whole(codebase: Codebase, manifest: Manifest) -> bool:
    verifier = Verifier(codebase.layout)
    try:
        for artifact in manifest.artifacts():
            verifier.verified_path(artifact)
    except IntegrityError:
        return False
    return True
