"""Which pin applies in which clone (RE-5). Pure.

A repository id proves nothing: a fork has the root commit of its origin, and a shallow clone takes the id from a file.
So a confirmation applies only to the clone in which the user gave it. A pin of the repository id applies in every clone
that has none of its own; only `trust add --all-clones` creates one. A revocation by name reaches every pin of the id.
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
    """One clone with all its worktrees, known by a random mark in its git configuration and by its git directory.

    A pin applies only if both agree: a fork cloned to the path of a deleted clone has no mark, and a copy of a clone
    has another path.
    """

    mark: str  # "" before the first pin
    git_dir_uri: str  # file URI of the common git directory


@dataclass(frozen=True, slots=True)
class ClonePin:
    """A pin that applies in one clone."""

    repository: str
    git_dir_uri: str
    trust: RepositoryTrust


@dataclass(frozen=True, slots=True)
class DamagedEntry:
    """A malformed entry of the file, written back unchanged: it may hold a revocation."""

    raw: object
    why: str


@dataclass(frozen=True, slots=True)
class Pins:
    """The content of the trust file."""

    repositories: Mapping[str, RepositoryTrust | DamagedEntry] = field(default_factory=dict)
    clones: Mapping[str, ClonePin | DamagedEntry] = field(default_factory=dict)  # by mark

    def trust_for(self, repository: str, clone: Clone | None = None) -> RepositoryTrust:
        """The pin in force: the clone's own, else that of the id. Raises ConfigError when its entry is damaged."""
        clone_trust = self.find_clone_trust(repository, clone)
        return self._repository_trust(repository) if clone_trust is None else clone_trust

    def find_clone_trust(self, repository: str, clone: Clone | None) -> RepositoryTrust | None:
        """The clone's own pin, None without one. Raises ConfigError when its entry is damaged."""
        pin = self.clones.get(clone.mark) if clone and clone.mark else None
        if isinstance(pin, DamagedEntry):
            raise _damaged_error("this clone", pin)
        if pin is None or clone is None:
            return None
        return pin.trust if (pin.repository, pin.git_dir_uri) == (repository, clone.git_dir_uri) else None

    def find_other_pins(self, repository: str, clone: Clone | None) -> dict[str, RepositoryTrust]:
        """Pins of the same repository id in other clones, which a change here leaves alone, by where they apply."""
        others = {
            pin.git_dir_uri: pin.trust
            for mark, pin in self.clones.items()
            if isinstance(pin, ClonePin) and pin.repository == repository and not _is_pin_of(clone, mark, pin)
        }
        repository_trust = self.repositories.get(repository)
        has_own_pin = self.find_clone_trust(repository, clone) is not None
        if has_own_pin and isinstance(repository_trust, RepositoryTrust):
            others["all other clones"] = repository_trust
        return {where: trust for where, trust in others.items() if trust.remote or trust.trusted}

    def _repository_trust(self, repository: str) -> RepositoryTrust:
        trust = self.repositories.get(repository, RepositoryTrust())
        if isinstance(trust, DamagedEntry):
            raise _damaged_error(f"repository {repository}", trust)
        return trust

    def with_change(self, repository: str, change: TrustTransition, clone: Clone | None) -> Pins:
        """Change the clone's own pin, which starts as a copy of the pin in force; without a clone, that of the id."""
        new_trust = change(self.trust_for(repository, clone))
        if clone is None:
            return replace(self, repositories={**self.repositories, repository: new_trust})
        return replace(
            self, clones={**self.clones, clone.mark: ClonePin(repository, clone.git_dir_uri, new_trust)}
        )

    def with_revocation(self, repository: str, key_id: str, today: str, comment: str = "") -> Pins:
        """Revoke the key in every pin of the id. Later clone pins inherit it, as they start as copies."""

        def revoke(trust: RepositoryTrust) -> RepositoryTrust:
            return pins.revoke_key(trust, key_id, today, comment)

        clones = {
            mark: replace(pin, trust=revoke(pin.trust))
            if isinstance(pin, ClonePin) and pin.repository == repository
            else pin
            for mark, pin in self.clones.items()
        }
        repository_trust = self.repositories.get(repository, RepositoryTrust())
        if not isinstance(repository_trust, DamagedEntry):  # else only the clones get the revocation
            repository_trust = revoke(repository_trust)
        return Pins({**self.repositories, repository: repository_trust}, clones)


def _is_pin_of(clone: Clone | None, mark: str, pin: ClonePin) -> bool:
    return clone is not None and (clone.mark, clone.git_dir_uri) == (mark, pin.git_dir_uri)


def _damaged_error(what: str, entry: DamagedEntry) -> ConfigError:
    return ConfigError(
        f"what is pinned for {what} is damaged: {entry.why}",
        hint="restore trust.json in GITINDEX_HOME, or take the entry out and pin the keys again",
    )
