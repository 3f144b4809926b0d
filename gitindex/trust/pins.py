"""Whom this user trusts, per repository (RE-5). Values and pure transitions; `pinfile` keeps them.

A repository may propose a remote and keys; a proposal changes nothing by itself. Revoked stays revoked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gitindex.errors import Untrusted, UsageError
from gitindex.trust.keys import PublicKey
from gitindex.trust.verify import ADD_KEY, Policy, Trusted

MAX_THRESHOLD = 16


@dataclass(frozen=True, slots=True)
class TrustedKey:
    key: PublicKey
    added: str  # ISO date
    by_rotation: bool = False


@dataclass(frozen=True, slots=True)
class RevokedKey:
    id: str
    comment: str
    revoked: str  # ISO date


@dataclass(frozen=True, slots=True)
class RepositoryTrust:
    """The pin of one repository: where from, by whom, by how many."""

    remote: str = ""
    endpoint: str = ""
    threshold: int = 1
    trusted: tuple[TrustedKey, ...] = ()
    revoked: tuple[RevokedKey, ...] = ()

    @property
    def policy(self) -> Policy:
        return Policy(
            tuple(entry.key for entry in self.trusted),
            frozenset(entry.id for entry in self.revoked),
            self.threshold,
        )


@dataclass(frozen=True, slots=True)
class Pins:
    repositories: Mapping[str, RepositoryTrust] = field(default_factory=dict)

    def of(self, repository: str) -> RepositoryTrust:
        return self.repositories.get(repository, RepositoryTrust())


class Novelty(StrEnum):
    """What a proposal would change; each needs the user's yes."""

    FIRST_USE = "first_use"
    REMOTE = "remote_changed"
    ENDPOINT = "endpoint_changed"
    KEYS = "keys_added"


def add_key(
    trust: RepositoryTrust, key: PublicKey, today: str, *, by_rotation: bool = False
) -> RepositoryTrust:
    """Trust a key. Raises UsageError for a revoked one: revocation wins, for good."""
    if any(entry.id == key.id for entry in trust.revoked):
        raise UsageError(f"{key.id} is revoked for this repository", hint="gitindex keys new FILE")
    if any(entry.key == key for entry in trust.trusted):
        return trust
    return replace(trust, trusted=(*trust.trusted, TrustedKey(key, today, by_rotation)))


def revoke_key(trust: RepositoryTrust, key_id: str, today: str, comment: str = "") -> RepositoryTrust:
    """Refuse a key from now on, whether it was trusted or not."""
    if any(entry.id == key_id for entry in trust.revoked):
        return trust
    known = next((entry.key.comment for entry in trust.trusted if entry.key.id == key_id), comment)
    return replace(
        trust,
        trusted=tuple(entry for entry in trust.trusted if entry.key.id != key_id),
        revoked=(*trust.revoked, RevokedKey(key_id, comment or known, today)),
    )


def set_remote(trust: RepositoryTrust, remote: str, endpoint: str = "") -> RepositoryTrust:
    return replace(trust, remote=remote, endpoint=endpoint)


def set_threshold(trust: RepositoryTrust, threshold: int) -> RepositoryTrust:
    if not 1 <= threshold <= MAX_THRESHOLD:
        raise UsageError(f"a threshold is between 1 and {MAX_THRESHOLD}, not {threshold}")
    return replace(trust, threshold=threshold)


def rotate(trust: RepositoryTrust, verified: Trusted, today: str) -> RepositoryTrust:
    """Adopt the keys that trusted signers named in their claim and that signed it as well.

    Naming them inside the payload matters: anybody can append a signature to somebody else's envelope.
    """
    for key in verified.successors:
        trust = add_key(trust, key, today, by_rotation=True)
    return trust


def novelties(
    trust: RepositoryTrust, remote: str, endpoint: str = "", keys: Sequence[PublicKey] = ()
) -> frozenset[Novelty]:
    """What a proposed remote and keys would change; empty means the pin already says so."""
    if not trust.remote and not trust.trusted:
        return frozenset({Novelty.FIRST_USE})
    found = set()
    if trust.remote and remote != trust.remote:
        found.add(Novelty.REMOTE)
    if trust.remote and endpoint != trust.endpoint:
        found.add(Novelty.ENDPOINT)
    if not set(keys) <= {entry.key for entry in trust.trusted}:
        found.add(Novelty.KEYS)
    return frozenset(found)


def require(trust: RepositoryTrust, remote: str, endpoint: str = "") -> Policy:
    """The policy to verify with; raises Untrusted before any contact when the pin does not cover it."""
    if not trust.policy.usable:
        raise Untrusted("no key is trusted for this repository", hint=ADD_KEY, trusted=[], remote=remote)
    changed = novelties(trust, remote, endpoint) & {Novelty.REMOTE, Novelty.ENDPOINT}
    if changed:
        here = " ".join(filter(None, (remote, endpoint)))
        pinned = " ".join(filter(None, (trust.remote, trust.endpoint)))
        raise Untrusted(
            f"the remote is {here}, but {pinned} is pinned for this repository",
            hint=f"gitindex trust add --remote {remote}",
            novelties=sorted(changed),
        )
    return trust.policy
