"""Find published snapshots with trusted signatures, nearest ancestor first (RE-3).

A manifest that does not verify is recorded in `refusals` and skipped: the next ancestor serves as well. After a force
push no ancestor may be published; with `search_outside_history` the search then goes on to other commits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gitindex.errors import GitindexError, IncompatibleVersion, IntegrityError, RemoteMissing, Untrusted
from gitindex.git.history import count_commits_apart
from gitindex.git.repo import ancestors, has_commit
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.remote.probe import ManifestSearch
from gitindex.trust.claim import SnapshotClaim
from gitindex.trust.verify import VerifiedClaim, verify

DEPTH = 512
_MAX_OUTSIDE = 32  # published commits to consider that are no ancestors
_MAX_DAMAGED = 4  # snapshots to try whose objects turn out missing or damaged


@dataclass(frozen=True, slots=True)
class PublishedSnapshot:
    """A commit and the verified claim about its snapshot."""

    commit: str
    trusted: VerifiedClaim
    outside_history: bool = False  # the commit is not among the ancestors that were searched

    @property
    def claim(self) -> SnapshotClaim:
        return self.trusted.claim

    @property
    def signer(self) -> str:
        return self.trusted.signers[0].id


@dataclass(slots=True)
class PublishedFinder:
    """One search, with the errors of the snapshots that it skipped."""

    session: RemoteSession
    depth: int = DEPTH
    search_outside_history: bool = False  # go on to commits that are no ancestors
    refusals: list[GitindexError] = field(default_factory=list)
    searched_count: int = 0
    damaged_count: int = 0

    def iter_published(self, commit: str) -> Iterator[PublishedSnapshot]:
        """Yield verified snapshots; ask for the next one when the objects of a snapshot are missing or damaged.

        Raises what a search raises (RemoteUnavailable, RemoteDenied), never Untrusted.
        """
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
        """Published commits that are no ancestors: first those that this clone does not have, the newest publication
        first, because a force push left them behind; then the others, the nearest first."""
        searched, repo = frozenset(history), self.session.repo
        others = [other for other in search.list_published() if other not in searched][:_MAX_OUTSIDE]
        in_clone = [other for other in others if has_commit(repo, other)]
        left_behind = [other for other in others if other not in in_clone]
        return [*left_behind, *sorted(in_clone, key=lambda other: count_commits_apart(repo, other, commit))]

    def find_nearest(self, commit: str) -> PublishedSnapshot:
        """The first of `iter_published`. Raises as `not_found_error` says when there is none."""
        for published in self.iter_published(commit):
            return published
        raise self.not_found_error(commit)

    def skip_damaged(self, error: IntegrityError) -> None:
        """Record a snapshot that could not be downloaded whole. Raises the first refusal after too many of them."""
        self.refusals.append(error)
        self.damaged_count += 1
        if self.damaged_count == _MAX_DAMAGED:
            raise self.refusals[0]

    def not_found_error(self, commit: str) -> GitindexError:
        """The refusal of the nearest snapshot when none is left, RemoteMissing when there never was any."""
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
