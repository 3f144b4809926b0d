"""Published snapshots that can be believed, nearest ancestor first (RE-3).

What does not verify, is gone or is damaged is remembered and passed over: the next ancestor serves as well. After a
force push no ancestor may be published; then, for those who ask, what was published last elsewhere serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gitindex.errors import GitindexError, IncompatibleVersion, IntegrityError, RemoteMissing, Untrusted
from gitindex.git.history import apart
from gitindex.git.repo import ancestors, is_known
from gitindex.ops.sharing.remote_session import Share
from gitindex.remote.probe import Search
from gitindex.trust.claim import SnapshotClaim
from gitindex.trust.verify import VerifiedClaim, verify

DEPTH = 512
_ELSEWHERE = 32  # published commits to consider that are no ancestors
_TRIES = 4  # snapshots to try whose objects turn out missing or damaged
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Published:
    """A verified statement about one commit."""

    commit: str
    trusted: VerifiedClaim
    elsewhere: bool = False  # not among the ancestors that were asked about

    @property
    def claim(self) -> SnapshotClaim:
        return self.trusted.claim

    @property
    def signer(self) -> str:
        return self.trusted.signers[0].id


@dataclass(slots=True)
class Finder:
    """One search, with what it passed over."""

    share: Share
    depth: int = DEPTH
    elsewhere: bool = False  # go on to commits that are no ancestors
    refusals: list[GitindexError] = field(default_factory=list)
    asked: int = 0

    def candidates(self, commit: str) -> Iterator[Published]:
        """Raises what a search raises (RemoteUnavailable, RemoteDenied), never an Untrusted."""
        history = ancestors(self.share.repo, commit, self.depth)
        self.asked = len(history)
        search = Search(self.share.transport, self.share.names, self.share.fingerprint)
        yield from self._verified(search, history)
        if self.elsewhere:
            yield from self._verified(search, self._others(search, commit, history), elsewhere=True)
        self.refusals += [error for error in search.failures if isinstance(error, GitindexError)]

    def _verified(
        self, search: Search, commits: Sequence[str], *, elsewhere: bool = False
    ) -> Iterator[Published]:
        bind = self.share.binding_elsewhere if elsewhere else self.share.binding
        for found in search.candidates(commits):
            try:
                trusted = verify(found.envelope, self.share.policy, bind(found.commit))
            except (Untrusted, IncompatibleVersion) as error:
                self.refusals.append(error)
                continue
            yield Published(found.commit, trusted, elsewhere)

    def _others(self, search: Search, commit: str, history: Sequence[str]) -> list[str]:
        """Published commits that are no ancestors. First those that are not even in this clone, the newest publication
        first: a branch has left them behind, and a fresh clone never saw them. Then the nearest."""
        asked, repo = frozenset(history), self.share.repo
        others = [one for one in search.published() if one not in asked][:_ELSEWHERE]
        known = [one for one in others if is_known(repo, one)]
        left_behind = [one for one in others if one not in known]
        return [*left_behind, *sorted(known, key=lambda one: apart(repo, one, commit))]

    def first(self, commit: str, bring: Callable[[Published], T]) -> tuple[Published, T]:
        """The nearest snapshot that `bring` could bring.

        Raises the refusal of the nearest one when none is left, RemoteMissing when there never was any.
        """
        failed = 0
        for found in self.candidates(commit):
            try:
                return found, bring(found)
            except IntegrityError as error:
                self.refusals.append(error)
                failed += 1
                if failed == _TRIES:
                    break
        raise self._nothing(commit)

    def _nothing(self, commit: str) -> GitindexError:
        if self.refusals:
            return self.refusals[0]
        return RemoteMissing(
            f"nothing is published for {commit[:12]}{_before(self.asked - 1)} "
            f"(repository {self.share.repository[:12]}, configuration {self.share.fingerprint[:16]})",
            hint="gitindex sync",
        )


def _before(count: int) -> str:
    if count < 1:
        return ""
    return " or the commit before it" if count == 1 else f" or the {count:,} commits before it"
