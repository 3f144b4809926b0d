"""Published snapshots that can be believed, nearest ancestor first (RE-3).

What does not verify, is gone or is damaged is remembered and passed over: the next ancestor serves as well. After a
force push no ancestor may be published; then, for those who ask, what was published last elsewhere serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gitindex.errors import GitindexError, IncompatibleVersion, IntegrityError, RemoteMissing, Untrusted
from gitindex.git.history import count_commits_apart
from gitindex.git.repo import ancestors, has_commit
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.remote.probe import ManifestSearch
from gitindex.trust.claim import SnapshotClaim
from gitindex.trust.verify import VerifiedClaim, verify

DEPTH = 512
_MAX_OUTSIDE = 32  # published commits to consider that are no ancestors
_MAX_TRIES = 4  # snapshots to try whose objects turn out missing or damaged
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PublishedSnapshot:
    """A verified statement about one commit."""

    commit: str
    trusted: VerifiedClaim
    outside_history: bool = False  # not among the ancestors that were asked about

    @property
    def claim(self) -> SnapshotClaim:
        return self.trusted.claim

    @property
    def signer(self) -> str:
        return self.trusted.signers[0].id


@dataclass(slots=True)
class PublishedFinder:
    """One search, with what it passed over."""

    session: RemoteSession
    depth: int = DEPTH
    search_outside_history: bool = False  # go on to commits that are no ancestors
    refusals: list[GitindexError] = field(default_factory=list)
    searched_count: int = 0

    def iter_published(self, commit: str) -> Iterator[PublishedSnapshot]:
        """Raises what a search raises (RemoteUnavailable, RemoteDenied), never an Untrusted."""
        history = ancestors(self.session.repo, commit, self.depth)
        self.searched_count = len(history)
        search = ManifestSearch(self.session.transport, self.session.names, self.session.fingerprint)
        yield from self._verify_all(search, history)
        if self.search_outside_history:
            yield from self._verify_all(
                search, self._list_outside_history(search, commit, history), outside_history=True
            )
        self.refusals += [error for error in search.failures if isinstance(error, GitindexError)]

    def _verify_all(
        self, search: ManifestSearch, commits: Sequence[str], *, outside_history: bool = False
    ) -> Iterator[PublishedSnapshot]:
        make_binding = self.session.binding_outside_history if outside_history else self.session.binding
        for unverified in search.find_manifests(commits):
            try:
                trusted = verify(unverified.envelope, self.session.policy, make_binding(unverified.commit))
            except (Untrusted, IncompatibleVersion) as error:
                self.refusals.append(error)
                continue
            yield PublishedSnapshot(unverified.commit, trusted, outside_history)

    def _list_outside_history(self, search: ManifestSearch, commit: str, history: Sequence[str]) -> list[str]:
        """Published commits that are no ancestors. First those that are not even in this clone, the newest publication
        first: a branch has left them behind, and a fresh clone never saw them. Then the nearest."""
        searched, repo = frozenset(history), self.session.repo
        others = [other for other in search.list_published() if other not in searched][:_MAX_OUTSIDE]
        in_clone = [one for one in others if has_commit(repo, one)]
        left_behind = [one for one in others if one not in in_clone]
        return [*left_behind, *sorted(in_clone, key=lambda one: count_commits_apart(repo, one, commit))]

    def find_nearest(
        self, commit: str, download: Callable[[PublishedSnapshot], T]
    ) -> tuple[PublishedSnapshot, T]:
        """The nearest snapshot that `download` could bring.

        Raises the refusal of the nearest one when none is left, RemoteMissing when there never was any.
        """
        failures = 0
        for published in self.iter_published(commit):
            try:
                return published, download(published)
            except IntegrityError as error:
                self.refusals.append(error)
                failures += 1
                if failures == _MAX_TRIES:
                    break
        raise self._not_found_error(commit)

    def _not_found_error(self, commit: str) -> GitindexError:
        if self.refusals:
            return self.refusals[0]
        return RemoteMissing(
            f"nothing is published for {commit[:12]}{_describe_history(self.searched_count - 1)} "
            f"(repository {self.session.repository[:12]}, configuration {self.session.fingerprint[:16]})",
            hint="gitindex sync",
        )


def _describe_history(count: int) -> str:
    if count < 1:
        return ""
    return " or the commit before it" if count == 1 else f" or the {count:,} commits before it"
