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

Change = Callable[[RepositoryTrust], RepositoryTrust]


@dataclass(frozen=True, slots=True)
class Clone:
    """One clone with all its worktrees: a random mark in its git configuration, and where its git directory is.

    Both must agree with the pin: a fork cloned to the path of a deleted clone has no mark, a copy another path.
    """

    mark: str  # "" before anything was pinned here
    where: str  # file URI of the common git directory


@dataclass(frozen=True, slots=True)
class ClonePin:
    repository: str
    where: str
    trust: RepositoryTrust


@dataclass(frozen=True, slots=True)
class Damaged:
    """An entry of the file that is not what we write, kept as it is: it may hold a revocation."""

    raw: object
    why: str


@dataclass(frozen=True, slots=True)
class Pins:
    repositories: Mapping[str, RepositoryTrust | Damaged] = field(default_factory=dict)
    clones: Mapping[str, ClonePin | Damaged] = field(default_factory=dict)  # by mark

    def of(self, repository: str, clone: Clone | None = None) -> RepositoryTrust:
        """The pin in force. Raises ConfigError when the entry that would say so is damaged."""
        own = self.own(repository, clone)
        return self._of_id(repository) if own is None else own

    def own(self, repository: str, clone: Clone | None) -> RepositoryTrust | None:
        """What was pinned in this very clone. Raises ConfigError when that entry is damaged."""
        found = self.clones.get(clone.mark) if clone and clone.mark else None
        if isinstance(found, Damaged):
            raise _damage("this clone", found)
        if found is None or clone is None or (found.repository, found.where) != (repository, clone.where):
            return None
        return found.trust

    def elsewhere(self, repository: str, clone: Clone | None) -> dict[str, RepositoryTrust]:
        """Where else the id is pinned, and how: what a yes here does not touch."""
        others = {
            pin.where: pin.trust
            for mark, pin in self.clones.items()
            if isinstance(pin, ClonePin) and pin.repository == repository and not _is(clone, mark, pin)
        }
        every = self.repositories.get(repository)
        if isinstance(every, RepositoryTrust) and self.own(repository, clone) is not None:
            others["all other clones"] = every
        return {where: trust for where, trust in others.items() if trust.remote or trust.trusted}

    def _of_id(self, repository: str) -> RepositoryTrust:
        found = self.repositories.get(repository, RepositoryTrust())
        if isinstance(found, Damaged):
            raise _damage(f"repository {repository}", found)
        return found

    def changed(self, repository: str, change: Change, clone: Clone | None) -> Pins:
        """One pin changed: this clone's own, which begins as what is in force here, or without a clone the id's."""
        new = change(self.of(repository, clone))
        if clone is None:
            return replace(self, repositories={**self.repositories, repository: new})
        return replace(self, clones={**self.clones, clone.mark: ClonePin(repository, clone.where, new)})

    def revoked(self, repository: str, key_id: str, today: str, comment: str = "") -> Pins:
        """The key refused in every pin of the id, and in all that are made later."""

        def revoke(trust: RepositoryTrust) -> RepositoryTrust:
            return pins.revoke_key(trust, key_id, today, comment)

        clones = {
            mark: replace(pin, trust=revoke(pin.trust))
            if isinstance(pin, ClonePin) and pin.repository == repository
            else pin
            for mark, pin in self.clones.items()
        }
        every = self.repositories.get(repository, RepositoryTrust())
        revoked = every if isinstance(every, Damaged) else revoke(every)  # damage here keeps no clone from it
        return Pins({**self.repositories, repository: revoked}, clones)


def _is(clone: Clone | None, mark: str, pin: ClonePin) -> bool:
    return clone is not None and (clone.mark, clone.where) == (mark, pin.where)


def _damage(what: str, found: Damaged) -> ConfigError:
    return ConfigError(
        f"what is pinned for {what} is damaged: {found.why}",
        hint="restore trust.json in GITINDEX_HOME, or take the entry out and pin the keys again",
    )
