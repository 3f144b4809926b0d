"""Which pin holds in which clone (RE-5). Pure.

A repository's id can be claimed: a fork has the root commit of what it was forked from, and a shallow clone says what
its own file says. So a yes counts in the clone where it was said. A pin of the id holds in every clone that has none
of its own, and only `trust add --all-clones` makes one. A revocation by name reaches every pin of the id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gitindex.errors import ConfigError
from gitindex.trust import pins
from gitindex.trust.pins import RepositoryTrust

TrustTransition = Callable[[RepositoryTrust], RepositoryTrust]


@dataclass(frozen=True, slots=True)
class Clone:
    """One clone with all its worktrees: a random mark in its git configuration, and where its git directory is.

    Both must agree with the pin: a fork cloned to the path of a deleted clone has no mark, a copy another path.
    """

    mark: str  # "" before anything was pinned here
    git_dir_uri: str  # file URI of the common git directory


@dataclass(frozen=True, slots=True)
class ClonePin:
    repository: str
    git_dir_uri: str
    trust: RepositoryTrust


@dataclass(frozen=True, slots=True)
class DamagedEntry:
    """An entry of the file that is not what we write, kept as it is: it may hold a revocation."""

    raw: object
    why: str


@dataclass(frozen=True, slots=True)
class Pins:
    repositories: Mapping[str, RepositoryTrust | DamagedEntry] = field(default_factory=dict)
    clones: Mapping[str, ClonePin | DamagedEntry] = field(default_factory=dict)  # by mark

    def trust_for(self, repository: str, clone: Clone | None = None) -> RepositoryTrust:
        """The pin in force. Raises ConfigError when the entry that would say so is damaged."""
        clone_trust = self.find_clone_trust(repository, clone)
        return self._repository_trust(repository) if clone_trust is None else clone_trust

    def find_clone_trust(self, repository: str, clone: Clone | None) -> RepositoryTrust | None:
        """What was pinned in this very clone. Raises ConfigError when that entry is damaged."""
        pin = self.clones.get(clone.mark) if clone and clone.mark else None
        if isinstance(pin, DamagedEntry):
            raise _damaged_error("this clone", pin)
        if (
            pin is None
            or clone is None
            or (pin.repository, pin.git_dir_uri) != (repository, clone.git_dir_uri)
        ):
            return None
        return pin.trust

    def find_other_pins(self, repository: str, clone: Clone | None) -> dict[str, RepositoryTrust]:
        """Where else the id is pinned, and how: what a yes here does not touch."""
        others = {
            pin.git_dir_uri: pin.trust
            for mark, pin in self.clones.items()
            if isinstance(pin, ClonePin) and pin.repository == repository and not _is_pin_of(clone, mark, pin)
        }
        repository_trust = self.repositories.get(repository)
        if (
            isinstance(repository_trust, RepositoryTrust)
            and self.find_clone_trust(repository, clone) is not None
        ):
            others["all other clones"] = repository_trust
        return {where: trust for where, trust in others.items() if trust.remote or trust.trusted}

    def _repository_trust(self, repository: str) -> RepositoryTrust:
        trust = self.repositories.get(repository, RepositoryTrust())
        if isinstance(trust, DamagedEntry):
            raise _damaged_error(f"repository {repository}", trust)
        return trust

    def with_change(self, repository: str, change: TrustTransition, clone: Clone | None) -> Pins:
        """One pin changed: this clone's own, which begins as what is in force here, or without a clone the id's."""
        new_trust = change(self.trust_for(repository, clone))
        if clone is None:
            return replace(self, repositories={**self.repositories, repository: new_trust})
        return replace(
            self, clones={**self.clones, clone.mark: ClonePin(repository, clone.git_dir_uri, new_trust)}
        )

    def with_revocation(self, repository: str, key_id: str, today: str, comment: str = "") -> Pins:
        """The key refused in every pin of the id, and in all that are made later."""

        def revoke(trust: RepositoryTrust) -> RepositoryTrust:
            return pins.revoke_key(trust, key_id, today, comment)

        clones = {
            mark: replace(pin, trust=revoke(pin.trust))
            if isinstance(pin, ClonePin) and pin.repository == repository
            else pin
            for mark, pin in self.clones.items()
        }
        repository_trust = self.repositories.get(repository, RepositoryTrust())
        revoked_trust = (
            repository_trust if isinstance(repository_trust, DamagedEntry) else revoke(repository_trust)
        )  # damage here keeps no clone from it
        return Pins({**self.repositories, repository: revoked_trust}, clones)


def _is_pin_of(clone: Clone | None, mark: str, pin: ClonePin) -> bool:
    return clone is not None and (clone.mark, clone.git_dir_uri) == (mark, pin.git_dir_uri)


def _damaged_error(what: str, entry: DamagedEntry) -> ConfigError:
    return ConfigError(
        f"what is pinned for {what} is damaged: {entry.why}",
        hint="restore trust.json in GITINDEX_HOME, or take the entry out and pin the keys again",
    )
