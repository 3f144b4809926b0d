"""Published snapshots that can be believed, nearest ancestor first (RE-3).

What does not verify, is gone or is damaged is remembered and passed over: the next ancestor serves as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from gitindex.errors import GitindexError, IncompatibleVersion, IntegrityError, RemoteMissing, Untrusted
from gitindex.git.repo import ancestors
from gitindex.ops.sharing import Share
from gitindex.remote.probe import Search
from gitindex.trust.claim import SnapshotClaim
from gitindex.trust.verify import Trusted, verify

DEPTH = 512
_TRIES = 4  # snapshots to try whose objects turn out missing or damaged
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Published:
    """A verified statement about one commit."""

    commit: str
    trusted: Trusted

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
    refusals: list[GitindexError] = field(default_factory=list)
    asked: int = 0

    def candidates(self, commit: str) -> Iterator[Published]:
        """Raises what a search raises (RemoteUnavailable, RemoteDenied), never an Untrusted."""
        history = ancestors(self.share.repo, commit, self.depth)
        self.asked = len(history)
        search = Search(self.share.transport, self.share.names, self.share.fingerprint)
        for found in search.candidates(history):
            try:
                trusted = verify(found.envelope, self.share.policy, self.share.binding(found.commit))
            except (Untrusted, IncompatibleVersion) as error:
                self.refusals.append(error)
                continue
            yield Published(found.commit, trusted)
        self.refusals += [error for error in search.failures if isinstance(error, GitindexError)]

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
